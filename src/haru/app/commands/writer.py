"""`haru writer`: the process that turns the log into memories."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext

from rich.markup import escape
from rich.table import Table

from haru.app import compose
from haru.app.commands.opened import console, now, tell
from haru.app.settings import Settings, load
from haru.journal import Retry, SetAside
from haru.writer.progress import Progress
from haru.writer.worker import Outcome, Writer, WriterBusy, alone

_WAIT_FOR_LOCK_S = 2.0


async def write(*, once: bool, as_json: bool) -> int:
    """Work until interrupted, or do what is due and end."""
    settings = load()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with writing(settings, wait=not once, stop=stop) as writer:
        if writer is None:
            return 0
        if once:
            outcomes = await _until_done(writer)
            _report(outcomes, as_json=as_json)
            return 1 if any(outcome.problem for outcome in outcomes) else 0
        console.print(f"The writer is at work ({compose.extractor_name(settings)}). Stop it with Ctrl-C.")
        await writer.run(stop)
    return 0


@asynccontextmanager
async def writing(settings: Settings, *, wait: bool, stop: asyncio.Event) -> AsyncGenerator[Writer | None]:
    """A writer, alone on its log; where another one is at work, wait for its end, or say so.

    Raises:
        WriterBusy: another one is at work, and ``wait`` is off.
    """
    home = compose.Home(settings.home)
    home.make()
    async with AsyncExitStack() as stack:
        while True:
            try:
                stack.enter_context(alone(home.writer_lock))
                break
            except WriterBusy:
                if not wait:
                    raise
            try:
                await asyncio.wait_for(stop.wait(), _WAIT_FOR_LOCK_S)
            except TimeoutError:
                continue
            yield None
            return
        yield await stack.enter_async_context(compose.writer(settings))


async def _until_done(writer: Writer) -> list[Outcome]:
    outcomes: list[Outcome] = []
    with console.status("Reading the log …") if console.is_terminal else nullcontext():
        while batch := await writer.once():
            outcomes.extend(batch)
            if all(outcome.problem for outcome in batch):
                break
    return outcomes


def _report(outcomes: Sequence[Outcome], *, as_json: bool) -> None:
    if as_json:
        tell([outcome.model_dump(mode="json") for outcome in outcomes])
        return
    if not outcomes:
        console.print("Nothing is due.")
        return
    table = Table("session", "turns", "added", "updated", "retired", "helped", "not carried out", "problem")
    for each in outcomes:
        numbers = (each.turns, each.added, each.updated, each.retired, each.helped)
        table.add_row(each.session, *map(str, numbers), escape("; ".join(each.dropped)), each.problem)
    console.print(table)


def progress(settings: Settings) -> Progress:
    """What the journal says about turns."""
    found = Progress()
    for _, record in compose.journal(settings).read():
        found.take(record)
    return found


def aside(*, as_json: bool) -> None:
    """List what was set aside."""
    kept = progress(load()).aside
    if as_json:
        tell([record.model_dump(mode="json") for record in kept.values()])
        return
    for record in kept.values():
        console.print(f"{record.session}: {len(record.turns)} turns, {record.reason}, {record.at:%Y-%m-%d %H:%M}")
    console.print("Try them again with `haru writer retry`." if kept else "Nothing is set aside.")


async def retry(session: str, *, as_json: bool) -> None:
    """Have set-aside turns tried again."""
    settings = load()
    kept = [record for record in progress(settings).aside.values() if session in {"", record.session}]
    journal = compose.journal(settings)
    for record in kept:
        await journal.append(Retry(at=now(), session=record.session, turns=record.turns))
    _told(kept, as_json=as_json)


def _told(kept: Sequence[SetAside], *, as_json: bool) -> None:
    count = sum(len(record.turns) for record in kept)
    if as_json:
        tell({"sessions": [record.session for record in kept], "turns": count})
    else:
        console.print(f"{count} turns are tried again when the writer runs next." if kept else "Nothing is set aside.")
