"""`haru rebuild`: the index made again, from the journal or from the chat log."""

from __future__ import annotations

import os
import shutil

import typer
from rich.progress import Progress as Bar

from haru.app import compose
from haru.app.commands.opened import console, tell
from haru.app.settings import Settings, load
from haru.errors import HaruError
from haru.forgotten import Forgotten
from haru.journal import Journal
from haru.rebuild import Rebuilt, by_hand, from_journal
from haru.review import turns as all_turns
from haru.writer.worker import Writer, alone, minable

_NEW = "rebuilding"
"""Folder under home in which a rebuild from the log stands until it is whole."""


async def rebuild(*, from_log: bool, yes: bool, as_json: bool) -> int:
    """Make the index again."""
    settings = load()
    home = compose.Home(settings.home)
    home.make()
    with alone(home.writer_lock):
        if from_log:
            await _extract_anew(settings, home, yes=yes, quiet=as_json)
        with console.status("Replaying the journal …"):
            async with compose.opened_index(settings) as index:
                rebuilt = await from_journal(compose.journal(settings), index, Forgotten(home.forgotten))
    _say(rebuilt, as_json=as_json)
    return 0 if rebuilt.exact else 1


async def _extract_anew(settings: Settings, home: compose.Home, *, yes: bool, quiet: bool) -> None:
    """Mine the whole log into a new journal that keeps what was done by hand; it takes the old one's place at the end.

    Interrupted, it leaves everything as it was.
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
    folder = settings.home / _NEW
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    journal = Journal(folder / home.journal.name, sync=False)
    for entry in by_hand(compose.journal(settings).read()):
        await journal.append(entry)
    apart = settings.model_copy(update={"home": folder, "writer": settings.writer.model_copy(update={"quiet_s": 0.0})})
    async with compose.writer(apart, log=home.log, forgotten=home.forgotten) as writer:
        await _mine(writer, count, quiet=quiet)
    fresh = folder / home.journal.name
    fresh.touch(mode=0o600)
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    fresh.replace(home.journal)
    shutil.rmtree(folder)


async def _mine(writer: Writer, count: int, *, quiet: bool) -> None:
    with Bar(console=console, disable=quiet) as bar:
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
