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
_LAST_BATCH_S = 10.0
"""How much longer than one extraction the writer may take at the end."""
_SOON_S = 0.5


async def up() -> int:
    """Talk, and have what was said remembered."""
    settings = load()  # say what is wrong with them before anything starts
    keeper = asyncio.create_task(_keep_writing(settings.writer.timeout_s + _LAST_BATCH_S))
    try:
        return await chat()
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper


async def _keep_writing(limit_s: float) -> None:
    """Run the writer, and start it again, with growing pauses, should it end."""
    ended = 0
    while True:
        # It watches its standard input, which ends with us however we end; Ctrl-C in the terminal is not for it.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "haru.app.cli", "writer", "--beside",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            await _stop(process, limit_s)
            raise
        pause_s = _RESTART_S[min(ended, len(_RESTART_S) - 1)]
        ended += 1
        console.print(f"[yellow]The writer ended (code {code}); it starts again in {pause_s:.0f} s.[/yellow]")
        await asyncio.sleep(pause_s)


async def _stop(process: asyncio.subprocess.Process, limit_s: float) -> None:
    """Let the writer take in what was said last; what it can't finish it does next time."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, process.kill)
    assert process.stdin
    process.stdin.close()
    waiting = asyncio.ensure_future(process.wait())
    done, _ = await asyncio.wait([waiting], timeout=_SOON_S)
    if not done:
        console.print("[dim]Remembering what was said … (Ctrl-C leaves it for next time)[/dim]")
        await asyncio.wait([waiting], timeout=limit_s)
    if not waiting.done():
        process.kill()
    await waiting
