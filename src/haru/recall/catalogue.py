"""Catalogue: what the scorer keeps of memories, made once a process and not once a conversation."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import cast

from haru import scoring
from haru.memory import Memory
from haru.ports import Embedder
from haru.scoring import Document
from haru.yielding import yielding

MOST = 2000
"""Memories kept: some 10 kB each with MiniLM."""


class Catalogue:
    """Documents by memory. Safe for several threads; takes a model's time: call it off the event loop.

    Args:
        embedder: reads memories, and must read the questions too; without one, words alone are compared.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self.embedder = embedder

        @lru_cache(MOST)
        def document(memory: Memory) -> Document:
            return scoring.document(memory, scoring.read([memory], embedder)[0] if embedder else None)

        self._document = document

    def documents(self, memories: Iterable[Memory]) -> list[tuple[str, Document]]:
        """What the scorer keeps of each, by its id.

        Raises:
            IndexFailure: the embedder cannot be used.
        """
        return [(memory.id, self._document(cast("Hashable", memory))) for memory in yielding(memories)]

    def forget(self) -> None:
        """Keep nothing of what was made."""
        self._document.cache_clear()
