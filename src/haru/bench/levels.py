"""Levels: light, with the word table that is always there; and full, with MiniLM where it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal

import numpy as np

from haru.bench.figures import RESULTS
from haru.errors import ExtraMissing, HaruError
from haru.ports import Embedder, Reading, Vectors

LEVELS = ("light", "full")


class Once:
    """An embedder that reads each text once, for measures of quality; those of time must not use it."""

    def __init__(self, inner: Embedder) -> None:
        self.id, self.dim = inner.id, inner.dim

        @cache
        def once(text: str, kind: Literal["query", "passage"]) -> Reading:
            return inner.read([text], kind)[0]

        self._once = once

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """See `haru.ports.Embedder.embed`."""
        return np.stack([each.vector for each in self.read(texts, kind)])

    def read(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[Reading]:
        """See `haru.ports.Embedder.read`."""
        return [self._once(text, kind) for text in texts]


def embedders(wanted: Sequence[str] = ()) -> dict[str, Embedder]:
    """The embedder of each level wanted; of all there are, where none is named.

    Raises:
        HaruError: there is no such level.
        ExtraMissing: ``full`` is wanted, and the extra ``semantic`` is not installed.
    """
    if unknown := set(wanted) - set(LEVELS):
        raise HaruError(f"there is no level {min(unknown)}; known are {' and '.join(LEVELS)}")
    found: dict[str, Embedder] = {}
    if not wanted or "light" in wanted:
        from haru.embed.static import StaticEmbedder

        found["light"] = StaticEmbedder()
    if not wanted or "full" in wanted:
        from haru.embed.minilm import MiniLmEmbedder

        try:
            found["full"] = MiniLmEmbedder(cache_dir=RESULTS / "models")
        except ExtraMissing:
            if wanted:
                raise
    return found
