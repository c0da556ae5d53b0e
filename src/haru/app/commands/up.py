"""`haru up`: the conversation in the foreground, the writer as a child process beside it."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress

from haru.app.commands.chat import chat
from haru.app.commands.opened import console
from haru.app.settings import load

_RESTART_S = (1.0, 5.0, 30.0, 120.0)
_STOP_S = 30.0


async def up() -> None:
    """Talk, and have what was said remembered."""
    load()  # say what is wrong with the settings before anything starts
    keeper = asyncio.create_task(_keep_writing())
    try:
        await chat()
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper


async def _keep_writing() -> None:
    """Run the writer, and start it again, with growing pauses, should it end."""
    ended = 0
    while True:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "haru.app.cli", "writer", stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            await _stop(process)
            raise
        pause_s = _RESTART_S[min(ended, len(_RESTART_S) - 1)]
        ended += 1
        console.print(f"[yellow]The writer ended (code {code}); it starts again in {pause_s:.0f} s.[/yellow]")
        await asyncio.sleep(pause_s)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Let the writer finish the batch in hand; what it can't finish in time it does next time."""
    process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(_STOP_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
