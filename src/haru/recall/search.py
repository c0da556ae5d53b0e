"""Search: one question put to the index, and what becomes of it. It may outlive the turn that asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from haru.errors import IndexBusy, IndexFailure
from haru.ports import ACTIVE, Embedder, Hits, MemoryIndex, Reading
from haru.recall.heard import Said


@dataclass(frozen=True, slots=True)
class Brought:
    """How the words of a search read, for the ranking of what it brought."""

    readings: Sequence[Reading]
    reader: Embedder | None
    """What read them."""


@dataclass(slots=True, eq=False)
class Search:
    """One search under way or done."""

    said: Said
    """The words that it ran on, and how they were sent."""
    turn: int
    """Number of the turn it was begun for, within the session."""
    speculative: bool
    """Begun on partial text."""
    task: asyncio.Task[Hits]
    bringing: asyncio.Task[Brought] | None = None
    """Its hits on their way to the memories at hand."""

    @property
    def hits(self) -> Hits | None:
        """What it found; ``None`` while it runs and where it failed."""
        if not self.task.done() or self.task.cancelled() or self.task.exception():
            return None
        return self.task.result()

    @property
    def brought(self) -> Brought | None:
        """How its words read, once its hits are among the memories at hand."""
        task = self.bringing
        if task is None or not task.done() or task.cancelled() or task.exception():
            return None
        return task.result()

    @property
    def under_way(self) -> asyncio.Task[Hits] | asyncio.Task[Brought] | None:
        """What it is doing now, until its hits are at hand."""
        task = self.bringing or self.task
        return None if task.done() else task

    @property
    def problem(self) -> str:
        """Why there are no hits, as a word: ``late`` while it runs, ``no-answer`` after its limit, else a code."""
        if not self.task.done():
            return "late"
        if self.task.cancelled():
            return "cancelled"
        error = self.task.exception()
        if error is None:
            return ""
        if isinstance(error, TimeoutError):
            return "no-answer"
        return error.code if isinstance(error, IndexFailure) else type(error).__name__

    @property
    def blames_the_store(self) -> bool:
        """Whether the breaker should hear of it: being asked to wait is no fault."""
        return not (self.task.done() and not self.task.cancelled() and isinstance(self.task.exception(), IndexBusy))


@dataclass(frozen=True, slots=True)
class Asked:
    """What one turn asked of the index."""

    began: float
    """Loop time of the last word."""
    said: Said
    search: Search | None = None
    refused: str = ""
    """Why there is no search: ``breaker-open``, ``too-many-under-way`` or ``closed``."""

    @property
    def problem(self) -> str:
        """Why the search did not serve; empty where it did, or where there was nothing to ask."""
        return self.search.problem if self.search else self.refused


async def ask(index: MemoryIndex, query: str, *, size: int, customer_id: str, limit_s: float) -> Hits:
    """Search under a total time limit: one byte now and then must not keep it alive for ever.

    Raises:
        TimeoutError: no answer within ``limit_s``.
        IndexFailure: the index could not answer.
    """
    async with asyncio.timeout(limit_s):
        return await index.search(query, size=size, filters=ACTIVE, customer_id=customer_id)
