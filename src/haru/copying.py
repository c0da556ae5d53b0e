"""Copying: memories from one index into another, in steps that can be taken up again, and compared at the end."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from haru.memory import Memory
from haru.ports import Filters, MemoryIndex

AT_A_TIME = 500
_EVERY = Filters(status=None)


@dataclass(frozen=True, slots=True)
class Contents:
    """What an index holds."""

    count: int
    checksum: str
    """The same for the same memories, in whatever order they are listed."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy came to."""

    written: int
    """Memories that were lacking or other at the target."""
    removed: int
    """Memories that stood only at the target."""
    source: Contents
    target: Contents

    @property
    def same(self) -> bool:
        """Whether both hold the same now."""
        return self.source == self.target


async def copy(
    source: MemoryIndex, target: MemoryIndex, told: Callable[[int], None] | None = None, *, remove: bool = False
) -> Copied:
    """Bring one index up to another. What is there already is not written again, so that a second call goes on.

    Args:
        source: copied from, and left as it is.
        target: copied to.
        told: hears how many memories were looked at.
        remove: erase what stands only at the target.

    Raises:
        IndexFailure: one of them cannot be used; what was written stays.
    """
    written = seen = 0
    kept: set[str] = set()
    async for some in _pages(source):
        there = {memory.id: memory for memory in await target.get([memory.id for memory in some])}
        lacking = [memory for memory in some if there.get(memory.id) != memory]
        await target.put(lacking)
        written += len(lacking)
        kept |= {memory.id for memory in some}
        seen += len(some)
        if told:
            told(seen)
    extra = [memory.id async for some in _pages(target) for memory in some if memory.id not in kept]
    if remove:
        await target.erase(extra)
    return Copied(written, len(extra) if remove else 0, await contents(source), await contents(target))


async def contents(index: MemoryIndex) -> Contents:
    """Count and checksum of all memories."""
    count, total = 0, 0
    async for some in _pages(index):
        count += len(some)
        for memory in some:
            total ^= int.from_bytes(hashlib.sha256(memory.model_dump_json().encode()).digest())
    return Contents(count, f"{total:064x}")


async def _pages(index: MemoryIndex) -> AsyncIterator[Sequence[Memory]]:
    cursor: str | None = None
    while True:
        page = await index.page(cursor=cursor, limit=AT_A_TIME, filters=_EVERY)
        if page.memories:
            yield page.memories
        cursor = page.cursor
        if cursor is None:
            return
