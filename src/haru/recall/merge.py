"""Merge: what the search found first, then what the session's cache adds, each memory once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from haru.memory import Memory, SearchRef
from haru.ports import Hits
from haru.receipt import Outcome, Recalled, Source


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that came up, and from where."""

    memory: Memory
    source: Source
    score: float
    position: int
    ref: SearchRef | None = None

    @property
    def recalled(self) -> Recalled:
        """What the receipt keeps of it."""
        return Recalled(
            id=self.memory.id, source=self.source, score=round(self.score, 4), position=self.position, ref=self.ref
        )


def from_hits(hits: Hits, source: Source) -> list[Found]:
    """What one search found, best first."""
    return [Found(hit.memory, source, hit.score, hit.position, hits.ref) for hit in hits.hits]


def merge(first: Iterable[Found], then: Iterable[Found], size: int) -> list[Found]:
    """At most ``size`` memories, those of ``first`` before those of ``then``, none twice."""
    merged: dict[str, Found] = {}
    for found in (*first, *then):
        merged.setdefault(found.memory.id, found)
    return list(merged.values())[:size]


def credited(ranked: Iterable[Found], answers: Iterable[Hits]) -> list[Found]:
    """Memories of the local ranking, each with the search on partial text that surfaced it in this turn, if one did."""
    surfaced = {each.memory.id: each for hits in answers for each in from_hits(hits, "speculative")}
    return [
        replace(surfaced[each.memory.id], memory=each.memory, score=each.score) if each.memory.id in surfaced else each
        for each in ranked
    ]


def outcome(found: Sequence[Found]) -> Outcome:
    """Where a turn's memories came from, in one word."""
    sources = {each.source for each in found}
    if not sources:
        return "none"
    for source in ("search", "speculative"):
        if source in sources:
            return source
    return "late+cache" if "late" in sources else "cache"
