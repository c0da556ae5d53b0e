"""`haru memory …`: see, mend, retire and forget."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import typer
from pydantic import ValidationError
from rich.table import Table

from haru.app.commands.opened import console, plain, reviewing, tell
from haru.errors import HaruError
from haru.memory import Kind, Memory, Status
from haru.ports import Filters

DOOR = "cli"
_IMPORT_AT_A_TIME = 500


async def list_(*, retired: bool, every: bool, limit: int, as_json: bool) -> None:
    """List memories."""
    status = None if every else Status.RETIRED if retired else Status.ACTIVE
    found: list[Memory] = []
    async with reviewing(DOOR) as (review, _):
        async for memory in review.all(Filters(status=status)):
            found.append(memory)
            if limit and len(found) == limit:
                break
    if as_json:
        tell([memory.model_dump(mode="json") for memory in found])
    elif found:
        console.print(_table(found))
    else:
        console.print("Nothing is remembered yet.")


async def search(query: str, *, size: int, as_json: bool) -> None:
    """Find memories."""
    async with reviewing(DOOR) as (review, _):
        hits = (await review.find(query, size=size)).hits
    if as_json:
        tell([{**hit.memory.model_dump(mode="json"), "score": hit.score} for hit in hits])
    elif hits:
        console.print(_table([hit.memory for hit in hits], [f"{hit.score:.2f}" for hit in hits]))
    else:
        console.print("Nothing comes close enough.")


async def show(key: str, *, as_json: bool) -> None:
    """Show one memory and where it comes from."""
    async with reviewing(DOOR) as (review, _):
        told = await review.explain(key)
    memory = told.memory
    if as_json:
        tell(
            {
                "memory": memory.model_dump(mode="json"),
                "said_in": [turn.model_dump(mode="json") for turn in told.said_in],
                "history": [{"at": at, "by": by, **change.model_dump()} for at, by, change in told.history],
                "recalled_in": [{"at": at, "session": session} for at, session in told.recalled_in],
            }
        )
        return
    console.print(f"[bold]{plain(memory.text)}[/bold]")
    console.print(
        f"{memory.id} · {memory.kind} · importance {memory.importance} · {memory.status}"
        f" · about {plain(memory.subject)} · noted {memory.created_at:%Y-%m-%d} · helped {memory.use_count} times"
    )
    for each in memory.evidence:
        console.print(f"  because you said: “{plain(each.quote)}”")
    for turn in told.said_in:
        console.print(f"  {turn.at:%Y-%m-%d %H:%M} [cyan]{plain(turn.person)}[/cyan]: {plain(turn.said)}")
    for at, by, change in told.history:
        why = f": {plain(change.reason)}" if change.reason else ""
        console.print(f"  {at:%Y-%m-%d %H:%M} {change.verb} by {plain(by)}{why}")
    for at, session in told.recalled_in[-5:]:
        console.print(f"  came up {at:%Y-%m-%d %H:%M} in {session}")


async def add(
    text: str, *, subject: str, kind: str, tags: Sequence[str], importance: int | None, as_json: bool
) -> None:
    """Add a memory by hand."""
    async with reviewing(DOOR) as (review, _):
        try:
            made = await review.add(text, subject=subject, kind=_kind(kind), tags=tags, importance=importance)
        except ValidationError as error:
            raise _told(error) from None
    _say(made, "Added", as_json=as_json)


async def edit(key: str, fields: dict[str, object], *, as_json: bool) -> None:
    """Change a memory."""
    if not fields:
        raise typer.BadParameter("say what to change: --text, --subject, --kind or --importance")
    if "kind" in fields:
        fields["kind"] = _kind(str(fields["kind"]))
    async with reviewing(DOOR) as (review, _):
        try:
            changed = await review.edit(key, **fields)
        except ValidationError as error:
            raise _told(error) from None
    _say(changed, "Changed", as_json=as_json)


async def retire(key: str, *, reason: str, as_json: bool) -> None:
    """Take a memory out of recall."""
    async with reviewing(DOOR) as (review, _):
        _say(await review.retire(key, reason), "Retired", as_json=as_json)


async def restore(key: str, *, as_json: bool) -> None:
    """Bring a retired memory back."""
    async with reviewing(DOOR) as (review, _):
        _say(await review.restore(key), "Restored", as_json=as_json)


async def forget(key: str, *, yes: bool, as_json: bool) -> int:
    """Remove a memory for good."""
    async with reviewing(DOOR) as (review, _):
        told = await review.explain(key)
        if not yes:
            console.print(f"[bold]{plain(told.memory.text)}[/bold]")
            console.print(
                f"This is erased from the index and the journal, and the words of {len(told.said_in)} turns of the "
                "chat log with it. It can't be undone."
            )
            if not typer.confirm("Forget it?"):
                return 1
        memory, wiped = await review.forget(told.memory.id)
    if as_json:
        tell({"forgotten": memory.id, "turns_redacted": wiped})
    else:
        console.print(f"Forgotten: {memory.id}. {wiped} turns of the log lost their words.")
    return 0


async def export(file: Path | None) -> None:
    """Write all memories as JSON Lines."""
    async with reviewing(DOOR) as (review, _):
        lines = [memory.model_dump_json() async for memory in review.all()]
    body = "".join(f"{line}\n" for line in lines)
    if file:
        try:
            file.touch(mode=0o600)
            file.write_text(body)
        except OSError as error:
            raise HaruError(f"{file} cannot be written: {error.strerror}") from None
        console.print(f"{len(lines)} memories written to {file}.")
    else:
        sys.stdout.write(body)


async def import_(file: Path, *, as_json: bool) -> None:
    """Take memories in from JSON Lines: all of them, or none where a line is wrong."""
    from rich.progress import track

    memories: list[Memory] = []
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise HaruError(f"{file} cannot be read: {error.strerror}") from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                memories.append(Memory.model_validate_json(line))
            except ValidationError as error:
                raise HaruError(f"{file}, line {number}: {_told(error)}. Nothing was imported") from None
    async with reviewing(DOOR) as (review, _):
        chunks = [memories[at : at + _IMPORT_AT_A_TIME] for at in range(0, len(memories), _IMPORT_AT_A_TIME)]
        taken = 0
        for chunk in track(chunks, "Importing", console=console, disable=as_json or not console.is_terminal):
            taken += await review.take(chunk)
    if as_json:
        tell({"imported": taken, "forgotten": len(memories) - taken})
    else:
        left = len(memories) - taken
        console.print(f"{taken} memories imported." + (f" {left} were left out: they were forgotten." if left else ""))


async def stats(*, as_json: bool) -> None:
    """Count what is known."""
    async with reviewing(DOOR) as (_, index):
        counts = await index.stats()
    if as_json:
        tell(counts)
        return
    for name, value in counts.items():
        if isinstance(value, dict):
            each = cast("dict[str, int]", value)
            value = ", ".join(f"{count} {key}" for key, count in each.items()) or "none"  # noqa: PLW2901 - for showing
        console.print(f"{name.replace('_', ' ')}: {value}")


def _table(memories: Sequence[Memory], scores: Sequence[str] = ()) -> Table:
    table = Table("id", "memory", "kind", "imp.", "noted", "helped", *(["score"] if scores else []))
    for row, memory in enumerate(memories):
        table.add_row(
            memory.id[:12],
            plain(memory.text) if memory.status is Status.ACTIVE else f"[dim]{plain(memory.text)} (retired)[/dim]",
            memory.kind,
            str(memory.importance),
            f"{memory.updated_at:%Y-%m-%d}",
            str(memory.use_count),
            *scores[row : row + 1],
        )
    return table


def _say(memory: Memory, done: str, *, as_json: bool) -> None:
    if as_json:
        tell(memory.model_dump(mode="json"))
    else:
        console.print(f"{done}: {plain(memory.text)} ({memory.id})")


def _kind(name: str) -> Kind:
    try:
        return Kind(name)
    except ValueError:
        raise HaruError(f"there is no kind {name}; known are {', '.join(Kind)}") from None


def _told(error: ValidationError) -> HaruError:
    return HaruError("; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()))
