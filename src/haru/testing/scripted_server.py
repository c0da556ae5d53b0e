"""ScriptedServer: an HTTP server on loopback that answers, or misbehaves, as a script says. Real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

Trouble = Literal["hangs", "drips", "resets", "breaks-off"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> object:
        """Its body."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Said:
    """An answer."""

    body: object = None
    """Sent as JSON; bytes as they are."""
    status: int = 200
    headers: Mapping[str, str] | None = None


Script = Callable[[Asked], Said | Trouble]


class ScriptedServer:
    """Use it as an async context manager; `url` is its base address.

    Args:
        script: what it says to a request, or how it misbehaves; may be changed while it runs.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.connections = 0
        """Opened since it started."""
        self.open_connections = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Its base address."""
        assert self._server
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode("latin-1").split("\r\n")
                pairs = (line.partition(":") for line in lines)
                headers = {name.lower(): value.strip() for name, _, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                method, path, _ = first.split(" ", 2)
                asked = Asked(method, path, headers, body)
                self.asked.append(asked)
                await _answer(self.script(asked), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.open_connections -= 1
            writer.close()


async def _answer(said: Said | Trouble, writer: asyncio.StreamWriter) -> None:
    if isinstance(said, Said):
        body = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
        writer.write(_head(said.status, {**(said.headers or {}), "content-length": str(len(body))}) + body)
        await writer.drain()
        return
    match said:
        case "hangs":
            await asyncio.Event().wait()
        case "resets":
            writer.transport.abort()
        case "breaks-off":
            writer.write(_head(200, {"content-length": "100000"}) + b'{"results": [')
            await writer.drain()
            writer.transport.abort()
        case "drips":
            writer.write(_head(200, {"content-length": "100000"}))
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [
        f"HTTP/1.1 {status} X",
        "content-type: application/json",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
