"""Listening: an HTTP server on loopback whose answers are written by hand, byte by byte where it must misbehave."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes

    @property
    def json(self) -> object:
        """Its body."""
        return json.loads(self.body)


class Listening(ABC):
    """Use it as an async context manager."""

    def __init__(self) -> None:
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
    def root(self) -> str:
        """Its address, without a path."""
        assert self._server
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @abstractmethod
    async def answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        """Write what is to be said to a request, or whatever else is to happen."""

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
                await self.answer(Asked(method, path, headers, body), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.open_connections -= 1
            writer.close()


def head(status: int, headers: Mapping[str, str], kind: str = "application/json") -> bytes:
    """The head of an answer."""
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def drip(writer: asyncio.StreamWriter) -> None:
    """A byte now and then, and never an answer."""
    writer.write(head(200, {"content-length": "100000"}))
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)
