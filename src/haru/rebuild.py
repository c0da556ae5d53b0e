"""Rebuild: the index made again from the journal, exactly and without a model.

Entries hold memories as they were after each change, so that replaying them gives the same table, byte for byte.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable
from typing import Protocol

from haru.forgotten import Forgotten
from haru.journal import Entry, Journal, JournalRecord, replay
from haru.lines import Line
from haru.memory import Memory, Record
from haru.ports import Filters, MemoryIndex

_PAGE = 1000


class Replaceable(MemoryIndex, Protocol):
    """An index of which everything can be replaced in one step."""

    async def replace_all(self, memories: list[Memory]) -> None:
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
        memories = await asyncio.to_thread(_replayed, journal, forgotten)
        await index.replace_all(list(memories.values()))
        wanted = checksum(memories.values())
        held = [memory async for memory in _everything(index)]
        return Rebuilt(memories=len(held), checksum=checksum(held), exact=checksum(held) == wanted)


def checksum(memories: Iterable[Memory]) -> str:
    """One number for many memories, whatever order they come in."""
    digest = hashlib.sha256()
    for memory in sorted(memories, key=lambda each: each.id):
        digest.update(memory.model_dump_json().encode() + b"\n")
    return digest.hexdigest()


def by_hand(records: Iterable[tuple[Line, JournalRecord]]) -> list[Entry]:
    """The entries that a person made: a rebuild from the log must not lose them."""
    return [record for _, record in records if isinstance(record, Entry) and record.by != "writer"]


def _replayed(journal: Journal, forgotten: Forgotten) -> dict[str, Memory]:
    gone = forgotten.ids()
    return {key: memory for key, memory in replay(journal.read()).items() if key not in gone}


async def _everything(index: MemoryIndex) -> AsyncIterator[Memory]:
    cursor: str | None = None
    while True:
        page = await index.page(cursor=cursor, limit=_PAGE, filters=Filters(status=None))
        for memory in page.memories:
            yield memory
        cursor = page.cursor
        if cursor is None:
            return
