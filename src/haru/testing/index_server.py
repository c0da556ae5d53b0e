"""An index server on loopback, on a port of its own, in the running event loop. Real sockets, real files."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn

from haru.carried import Carried
from haru.doors.index_server.collection import BackEnd
from haru.doors.index_server.keys import Grant, Keys
from haru.doors.index_server.server import Indexes, application
from haru.index.sqlite import SqliteIndex
from haru.ports import Embedder
from haru.postgres.index import PostgresIndex

KEY = "write-key-of-the-home"
READ_KEY = "read-key-of-the-home"


@asynccontextmanager
async def served(
    folder: Path, embedder: Embedder | None = None, *, searches_a_minute: int = 0, port: int = 0, postgres: str = ""
) -> AsyncGenerator[str]:
    """The address of a server that runs until the end of the block; its documents in files, or in a database."""

    async def opener(organization: str, name: str, where: Path) -> BackEnd:
        if postgres:
            shared = PostgresIndex(postgres, embedder, household=f"{organization}/{name}", record=Carried)
            await shared.start()
            return shared
        index = SqliteIndex(where / "index.db", embedder, record=Carried)
        await index.start()
        return index

    keys = Keys({KEY: Grant("home", "write"), READ_KEY: Grant("home", "read")})
    app = application(Indexes(folder, opener), keys, searches_a_minute=searches_a_minute)
    listening = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve([listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listening.close()
