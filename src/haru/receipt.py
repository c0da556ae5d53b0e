"""Receipt: what one recall did, for the chat log, the metrics and the person who asks why."""

from __future__ import annotations

from typing import Literal

from haru.memory import Record, SearchRef

Outcome = Literal["search", "speculative", "late+cache", "cache", "none"]
"""Where the memories of a turn came from.

``search``: the index answered this turn's words in time. ``speculative``: searches on partial text did, on the same
words or on most of them; then the memories at hand were ranked by all of them. ``late+cache``: the memories at hand,
some of them from searches of earlier turns. ``cache``: the preloaded memories alone. ``none``: nothing was recalled.
"""

Source = Literal["search", "speculative", "late", "cache"]
"""What surfaced a memory: this turn's own search, one on its partial text, one of an earlier turn, or none."""
BreakerState = Literal["closed", "open", "half-open"]
PreloadState = Literal["none", "loading", "ready", "failed"]


class Recalled(Record):
    """One memory that came up in a turn."""

    id: str
    source: Source
    score: float
    position: int = 0
    """Rank in the search that surfaced it (from 0); in the local ranking where no search did."""
    ref: SearchRef | None = None
    """The search that surfaced it, for feedback; none for a memory out of the preload."""


class Receipt(Record):
    """What one recall did. All times in milliseconds."""

    budget_ms: float
    elapsed_ms: float
    """From the call to its return."""
    waited_ms: float
    """How long the reply really stood still for the index or the preload; 0 where what was at hand would do."""
    outcome: Outcome
    query: str = ""
    """The words as sent: as said, without filler; empty where they were only small talk."""
    ref: SearchRef | None = None
    """Ids of this turn's own search, where it answered in time."""
    recalled: tuple[Recalled, ...] = ()
    searches: int = 0
    """Searches begun for this turn, speculative ones counted."""
    breaker: BreakerState = "closed"
    preload: PreloadState = "none"
    cached: int = 0
    """Memories in the session's cache."""
    problem: str = ""
    """Why the search did not serve: ``late``, or an error's code; empty where it did or was not waited for."""
    preload_problem: str = ""
    """Why the preload failed, as an error's code."""
