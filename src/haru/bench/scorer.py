"""Scorer: Haru's ranking of memories with no index around it, for measures of quality."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from haru import scoring
from haru.corpus import Corpus, corpus_for
from haru.memory import Memory
from haru.ports import Embedder
from haru.scoring import Document, Weights

Key = TypeVar("Key", bound=Hashable)

SIZE = 10


class Scorer(Generic[Key]):
    """A corpus and what reads its questions.

    Args:
        embedder: it read the documents.
        documents: with their keys.
        floor: as shipped; otherwise the bare ranking, in which all places are always filled.
    """

    def __init__(self, embedder: Embedder, documents: Iterable[tuple[Key, Document]], *, floor: bool) -> None:
        self._embedder = embedder
        self.corpus: Corpus[Key] = corpus_for(embedder, documents)
        if not floor:
            self.corpus.weights = bare(self.corpus.weights)

    def __call__(self, question: str, size: int = SIZE) -> list[Key]:
        """What answers a question, best first."""
        spoken = scoring.wording(question)
        if not spoken:
            return []
        asked = scoring.question(question, self._embedder.read([spoken], "query")[0])
        return [each.key for each in self.corpus.rank(asked, size=size, now_s=0.0)]


def bare(weights: Weights) -> Weights:
    """The same without what keeps places empty."""
    return replace(weights, floor=0.0, floor_apart=0.0, company=0.0)


def documents(memories: Sequence[Memory], embedder: Embedder) -> list[tuple[str, Document]]:
    """What the scorer keeps of memories, by their ids."""
    readings = scoring.read(memories, embedder)
    return [(memory.id, scoring.document(memory, read)) for memory, read in zip(memories, readings, strict=True)]
