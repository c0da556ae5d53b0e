"""Keyboard: lines that are typed or piped in, with the event loop left free meanwhile."""

from __future__ import annotations

import asyncio
import sys
import threading

from haru.app.commands.opened import console


class Keyboard:
    """Reads standard input line by line."""

    def __init__(self) -> None:
        self.typed = sys.stdin.isatty()
        """Whether a person sits there; otherwise the lines come out of a file or a pipe."""
        self._closed = False
        self._waiting: asyncio.Future[str] | None = None

    async def line(self, prompt: str = "") -> str:
        """The next line, with its end; empty when there are no more."""
        if self._closed:
            return ""
        if self.typed and prompt:
            console.print(prompt, end="")
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        # A thread of its own that dies with the process: one that waits for input can't be told to stop.
        threading.Thread(target=_read, args=(loop, self._waiting), daemon=True).start()
        try:
            return await self._waiting
        finally:
            self._waiting = None

    def close(self) -> None:
        """No more lines: whoever waits for one gets the end."""
        self._closed = True
        if self._waiting and not self._waiting.done():
            self._waiting.set_result("")


def _read(loop: asyncio.AbstractEventLoop, waiting: asyncio.Future[str]) -> None:
    try:
        text = sys.stdin.readline()
    except (OSError, ValueError):  # closed under us, or bytes that are no text
        text = ""
    if not loop.is_closed():
        loop.call_soon_threadsafe(lambda: waiting.done() or waiting.set_result(text))
