"""ScriptedServer: an HTTP server on loopback that answers, or misbehaves, as a script says. Real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from haru.testing.listening import Asked, Listening, drip, head

Trouble = Literal["hangs", "drips", "resets", "breaks-off"]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer."""

    body: object = None
    """Sent as JSON; bytes as they are."""
    status: int = 200
    headers: Mapping[str, str] | None = None


Script = Callable[[Asked], Said | Trouble]


class ScriptedServer(Listening):
    """Use it as an async context manager; `url` is its base address.

    Args:
        script: what it says to a request, or how it misbehaves; may be changed while it runs.
    """

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        """Its base address."""
        return self.root

    async def answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        """By the script."""
        self.asked.append(asked)
        await _answer(self.script(asked), writer)


async def _answer(said: Said | Trouble, writer: asyncio.StreamWriter) -> None:
    if isinstance(said, Said):
        body = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
        writer.write(head(said.status, {**(said.headers or {}), "content-length": str(len(body))}) + body)
        await writer.drain()
        return
    match said:
        case "hangs":
            await asyncio.Event().wait()
        case "resets":
            writer.transport.abort()
        case "breaks-off":
            writer.write(head(200, {"content-length": "100000"}) + b'{"results": [')
            await writer.drain()
            writer.transport.abort()
        case "drips":
            await drip(writer)
