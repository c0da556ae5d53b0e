"""Rebuild: the index made again from the journal, exactly and without a model.

Entries hold memories as they were after each change, so that replaying them gives the same table, byte for byte.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from haru.forgotten import Forgotten, turns_of
from haru.journal import Entry, Journal, replay
from haru.memory import Feedback, Memory, Record
from haru.ports import Filters, MemoryIndex
from haru.review import everything, turns


class Replaceable(MemoryIndex, Protocol):
    """An index of which everything can be replaced in one step."""

    async def replace_all(self, memories: Sequence[Memory]) -> None:
        """Hold these memories and no others: all of them, or as before."""
        ...


class Rebuilt(Record):
    """What a rebuild made."""

    memories: int
    checksum: str
    """SHA-256 of all memories as JSON lines, in order of id."""
    exact: bool
    """Whether the index then held just what the journal says."""


async def from_journal(journal: Journal, index: Replaceable, forgotten: Forgotten) -> Rebuilt:
    """Put into the index what the journal adds up to; what was forgotten stays gone.

    Raises:
        haru.errors.IndexFailure: the index could not take it; it is as it was.
    """
    async with journal.changing(index):
        memories, events = await asyncio.to_thread(_replayed, journal, forgotten)
        await index.replace_all(list(memories.values()))
        for event in events:
            await index.feedback(event)
        wanted = checksum(memories.values())
        held = [memory async for memory in everything(index, Filters(status=None))]
        return Rebuilt(memories=len(held), checksum=checksum(held), exact=checksum(held) == wanted)


def checksum(memories: Iterable[Memory]) -> str:
    """One number for many memories, whatever order they come in."""
    digest = hashlib.sha256()
    for memory in sorted(memories, key=lambda each: each.id):
        digest.update(memory.model_dump_json().encode() + b"\n")
    return digest.hexdigest()


def carried(journal: Journal, log: Path, forgotten: Forgotten) -> list[Entry]:
    """The entries that a rebuild from the log must not lose, oldest first. Blocks.

    What people did themselves holds, and so do memories of which the log can no longer tell: their turns were
    removed, or lost their words when something else was forgotten.
    """
    told = {turn.id for _, _, turn in turns(log) if turn.said}
    found: list[Entry] = []
    for _, record in journal.read():
        if not isinstance(record, Entry):
            continue
        mined = record.by == "writer"
        puts = tuple(
            each for each in record.puts if not forgotten.covers(each) and not (mined and told & turns_of(each))
        )
        if puts or not mined:
            # A mined one under another id, and done with no turn: the new entry for its turns has the old id.
            update = {"id": f"{record.id}-kept", "turns": (), "feedback": (), "puts": puts} if mined else {"puts": puts}
            found.append(record.model_copy(update=update))
    return found


def last_word(journal: Journal, draft: Journal, forgotten: Forgotten) -> list[Memory]:
    """Memories that people had the last word on, and that a draft has otherwise. Blocks.

    Mining old turns again may undo a later edit; a change that the writer made after the edit stands.
    """
    by_hand: dict[str, Memory] = {}
    for _, record in journal.read():
        for memory in record.puts if isinstance(record, Entry) else ():
            known = by_hand.get(memory.id)
            if isinstance(record, Entry) and record.by != "writer":
                by_hand[memory.id] = memory
            elif known and _says(known) != _says(memory):
                del by_hand[memory.id]
    drafted = replay(draft.read())
    return [
        memory
        for key, memory in by_hand.items()
        if not forgotten.covers(memory) and (key not in drafted or _says(drafted[key]) != _says(memory))
    ]


def _says(memory: Memory) -> tuple[str, str]:
    return memory.text, memory.status


def _replayed(journal: Journal, forgotten: Forgotten) -> tuple[dict[str, Memory], list[Feedback]]:
    entries = [record for _, record in journal.read() if isinstance(record, Entry)]
    memories = {key: memory for key, memory in replay(journal.read()).items() if not forgotten.covers(memory)}
    return memories, [event for entry in entries for event in entry.feedback if event.memory_id in memories]
