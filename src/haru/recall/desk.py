"""Desk: what all recall sessions of a process share, and what one recall brings."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

from haru.memory import Memory
from haru.ports import MemoryIndex
from haru.recall.breaker import Breaker
from haru.recall.catalogue import Catalogue
from haru.receipt import Receipt


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """How recall works."""

    budget_s: float = 0.25
    """Longest wait for memories in a turn."""
    size: int = 10
    """Most memories in a turn."""
    preload: int = 1000
    """Most memories kept at hand by a session."""
    background_s: float = 10.0
    """Total time limit of a search or preload that nobody waits for any more."""
    debounce_s: float = 0.75
    """Least time between the first two searches on partial text; see `haru.recall.speculation.WIDER`."""
    speculations: int = 3
    """Most searches on partial text in a turn."""
    idle_s: float = 30.0
    """Silence after which the index is told that speech begins: a connection may have gone cold."""
    refresh_s: float = 60.0
    """Age at which the memories at hand are fetched anew after a turn."""


@dataclass(frozen=True, slots=True)
class Recollection:
    """What one recall brought."""

    memories: tuple[Memory, ...]
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Desk:
    """What all sessions of a process share."""

    index: MemoryIndex
    catalogue: Catalogue
    """With a local embedder: it works on words that no index answered for, and is quick with a thousand memories."""
    finer: Catalogue | None
    """With one that finds more and takes seconds to read a thousand memories. Takes over once it has."""
    words_alone: Catalogue
    """With none, for when they fail."""
    settings: RecallSettings
    breaker: Breaker
    threads: Executor
    tripped: Callable[[], None]
    """Called when the breaker may have opened, so that its probe begins."""
