"""Batch: the new turns of one session, what stands around them, and what a model or the rules propose from them."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from haru.chatlog import Turn
from haru.journal import Dropped
from haru.memory import Evidence, Kind, Memory, Record


class Batch(Record):
    """What one extraction sees."""

    session: str
    turns: tuple[Turn, ...]
    """New turns, in the order they were said. Only these are mined."""
    context: tuple[Turn, ...] = ()
    """Turns just before them: already processed, shown for understanding only."""
    related: tuple[Memory, ...] = ()
    """Up to forty active memories that have to do with these turns; only these may be changed."""
    now: datetime
    """When the extraction runs."""


class ProposedAdd(Record):
    """A memory to add, checked for form but not yet for sense."""

    text: str
    subject: str = ""
    kind: Kind = Kind.FACT
    tags: tuple[str, ...] = ()
    importance: int = 3
    about: str = ""
    evidence: Evidence | None = None


class ProposedUpdate(Record):
    """Another text (and subject, tags …) for a memory that was shown."""

    id: str
    text: str
    subject: str = ""
    tags: tuple[str, ...] = ()
    importance: int | None = None
    evidence: Evidence | None = None


class ProposedRetire(Record):
    """A memory that was shown and is no longer true or wanted."""

    id: str
    reason: str = ""


class Proposal(Record):
    """What an extractor makes of a batch, after every check that needs no index."""

    adds: tuple[ProposedAdd, ...] = ()
    updates: tuple[ProposedUpdate, ...] = ()
    retires: tuple[ProposedRetire, ...] = ()
    relevant: tuple[str, ...] = ()
    """Ids of shown memories that helped in these turns."""
    rejected: tuple[Dropped, ...] = ()


class Extractor(Protocol):
    """Turns a batch into a proposal."""

    @property
    def id(self) -> str:
        """Name of the model or of the rules, kept in the journal."""
        ...

    async def extract(self, batch: Batch) -> Proposal:
        """Propose changes.

        Raises:
            haru.errors.ModelFailure: no usable answer. The batch stays undone; an empty proposal, by contrast,
                means that there was nothing to remember.
        """
        ...
