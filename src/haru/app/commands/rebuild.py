"""`haru rebuild`: the index made again, from the journal or from the chat log."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import typer
from rich.markup import escape
from rich.progress import Progress as Bar

from haru.app import compose
from haru.app.commands.opened import console, now, tell
from haru.app.settings import Settings, load
from haru.errors import HaruError, IndexRefused
from haru.forgotten import Forgotten
from haru.index.sqlite import SqliteIndex
from haru.journal import Change, Entry, Journal
from haru.rebuild import Rebuilt, carried, from_journal, last_word
from haru.review import DRAFT
from haru.review import turns as all_turns
from haru.writer.worker import Writer, alone, minable


async def rebuild(*, from_log: bool, yes: bool, as_json: bool) -> int:
    """Make the index again."""
    settings = load()
    home = compose.Home(settings.home)
    home.make()
    with alone(home.writer_lock):
        await _openable(settings, home, yes=yes, quiet=as_json)
        if from_log:
            await _extract_anew(settings, home, yes=yes, quiet=as_json)
        with console.status("Replaying the journal …"):
            async with compose.opened_index(settings, vectors=False) as index:
                rebuilt = await from_journal(compose.journal(settings), index, Forgotten(home.forgotten))
        await _vectors(settings, quiet=as_json)
    _say(rebuilt, as_json=as_json)
    return 0 if rebuilt.exact else 1


async def _openable(settings: Settings, home: compose.Home, *, yes: bool, quiet: bool) -> None:
    """Do away with a database that can't be used any more: all that is in it is in the journal too."""
    try:
        async with compose.opened_index(settings, vectors=False) as index:
            problems = await index.check() if isinstance(index, SqliteIndex) else []
    except IndexRefused as error:
        problems = [str(error)]
    if not problems:
        return
    if not quiet:
        console.print(f"[yellow]{escape(problems[0])}[/yellow]")
    if not yes and not typer.confirm(f"Delete {home.index.name} and make a new one from the journal?"):
        raise typer.Exit(1)
    for end in ("", "-wal", "-shm"):
        Path(f"{home.index}{end}").unlink(missing_ok=True)
    if not quiet:
        console.print("A conversation under way still reads the deleted file: start it again afterwards.")


async def _extract_anew(settings: Settings, home: compose.Home, *, yes: bool, quiet: bool) -> None:
    """Mine the whole log into a new journal, which takes the old one's place at the end.

    It keeps what was done by hand. Interrupted, it leaves everything as it was.
    """
    count = sum(minable(turn) for _, _, turn in all_turns(home.log))
    calls = -(-count // settings.writer.due_turns)
    if not yes:
        cost = (
            "no model is asked" if compose.uses_rules(settings) else f"at least {calls} calls to {settings.llm.model}"
        )
        console.print(f"{count} turns are mined again by {compose.extractor_name(settings)}: {cost}.")
        if not typer.confirm("Go on?"):
            raise typer.Exit(1)
    folder = settings.home / DRAFT
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    mark = folder / "begun"
    mark.touch()
    draft, real = Journal(folder / home.journal.name, sync=False), compose.journal(settings)
    try:
        await _take_over(real, draft, home)
        apart = settings.model_copy(
            update={"home": folder, "writer": settings.writer.model_copy(update={"quiet_s": 0.0})}
        )
        async with compose.writer(apart, log=home.log, forgotten=home.forgotten) as writer:
            await _mine(writer, count, quiet=quiet)
        async with compose.opened_index(settings, vectors=False) as index, real.changing(index):
            if not mark.exists():
                raise HaruError("a memory was forgotten meanwhile; everything else is as it was. Run the rebuild again")
            await _take_over(real, draft, home)  # what people did since it began
            if held := await asyncio.to_thread(last_word, real, draft, Forgotten(home.forgotten)):
                changes = tuple(Change(verb="update", id=each.id, reason="by hand, before a rebuild") for each in held)
                await draft.append(Entry(at=now(), by="rebuild", puts=tuple(held), changes=changes))
            await asyncio.to_thread(_change_over, draft.path, home.journal)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _take_over(real: Journal, draft: Journal, home: compose.Home) -> None:
    there = {record.id for _, record in draft.read() if isinstance(record, Entry)}
    for entry in await asyncio.to_thread(carried, real, home.log, Forgotten(home.forgotten)):
        if entry.id not in there:
            await draft.append(entry)


def _change_over(draft: Path, real: Path) -> None:
    draft.touch(mode=0o600)  # an empty log makes an empty journal
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(real)


async def _vectors(settings: Settings, *, quiet: bool) -> None:
    async with compose.opened_index(settings) as index:
        if isinstance(index, SqliteIndex):
            with Bar(console=console, disable=quiet or not console.is_terminal, transient=True) as bar:
                task = bar.add_task("Vectors", total=None)
                await index.embed_missing(lambda done, total: bar.update(task, completed=done, total=total))


async def _mine(writer: Writer, count: int, *, quiet: bool) -> None:
    with Bar(console=console, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("Mining the log", total=count)
        while outcomes := await writer.once():
            if problems := [each.problem for each in outcomes if each.problem]:
                raise HaruError(f"mining the log stopped ({problems[0]}); everything is as it was. Try again later")
            bar.advance(task, sum(each.turns for each in outcomes))


def _say(rebuilt: Rebuilt, *, as_json: bool) -> None:
    if as_json:
        tell(rebuilt.model_dump())
    else:
        verdict = "exactly what the journal says" if rebuilt.exact else "NOT what the journal says: run it again"
        console.print(f"{rebuilt.memories} memories, {verdict} (checksum {rebuilt.checksum[:16]}).")
