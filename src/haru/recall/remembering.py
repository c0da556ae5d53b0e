"""Remembering: an embedder that reads each memory once a process, not once a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from haru.ports import Embedder, Reading, Vectors

MOST = 2000
"""Memories kept: some 20 kB each at 384 numbers a part."""


class Remembering:
    """Keeps what it last read of memories; questions are read anew. Safe for several threads."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

        @lru_cache(MOST)
        def passage(text: str) -> Reading:
            return inner.read([text], "passage")[0]

        self._passage = passage

    @property
    def id(self) -> str:
        """Names the model."""
        return self._inner.id

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._inner.dim

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """See `haru.ports.Embedder.embed`."""
        rows = [each.vector for each in self.read(texts, kind)]
        return np.stack(rows) if rows else np.zeros((0, self.dim), np.float32)

    def read(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[Reading]:
        """See `haru.ports.Embedder.read`."""
        if kind == "query":
            return self._inner.read(texts, kind)
        return [self._passage(text) for text in texts]

    def forget(self) -> None:
        """Keep nothing of what was read."""
        self._passage.cache_clear()
