"""`haru writer`: the process that turns the log into memories."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext

from rich.table import Table

from haru.app import compose
from haru.app.commands.opened import console, now, plain, tell
from haru.app.settings import Settings, load
from haru.journal import Retry, SetAside
from haru.writer.progress import Progress
from haru.writer.worker import Outcome, Writer, WriterBusy, alone

_WAIT_FOR_LOCK_S = 2.0


async def write(*, once: bool, beside: bool = False, as_json: bool) -> int:
    """Work until interrupted, or do what is due and end. ``beside`` another process, end soon after it."""
    settings = load()
    stop = asyncio.Event()
    _heed_signals(stop)
    if beside:
        asyncio.get_running_loop().add_reader(sys.stdin, _read_on, stop)
    async with writing(settings, wait=not once, stop=stop) as writer:
        if writer is None:
            return 0
        if once:
            outcomes = await _until_done(writer)
            _report(outcomes, as_json=as_json)
            return 1 if any(outcome.problem for outcome in outcomes) else 0
        if not as_json:
            console.print(f"The writer is at work ({plain(compose.extractor_name(settings))}). Stop it with Ctrl-C.")
        await writer.run(stop, lambda outcome: _told_of(outcome, as_json=as_json))
        if beside:  # the conversation is over: what was said last in it is due
            await writer.once()
    return 0


def _heed_signals(stop: asyncio.Event) -> None:
    """The first signal lets the batch in hand be finished; a second one ends at once, which loses nothing either."""
    loop = asyncio.get_running_loop()

    def heed() -> None:
        stop.set()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, heed)


def _read_on(stop: asyncio.Event) -> None:
    """Standard input ends when the process at its other end does, however that happens."""
    if not os.read(sys.stdin.fileno(), 4096):
        asyncio.get_running_loop().remove_reader(sys.stdin)
        stop.set()


def _told_of(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        tell(outcome.model_dump(mode="json"))
        sys.stdout.flush()
    else:
        what = outcome.problem or f"{outcome.added} added, {outcome.updated} updated, {outcome.retired} retired"
        console.print(f"{now():%H:%M:%S} {outcome.session}: {outcome.turns} turns, {what}")


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
        table.add_row(each.session, *map(str, numbers), plain("; ".join(each.dropped)), each.problem)
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
