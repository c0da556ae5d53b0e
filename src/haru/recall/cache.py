"""Cache: the memories that one session keeps at hand, ranked by the same scorer as the index."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from haru import scoring
from haru.corpus import Corpus
from haru.memory import Memory
from haru.ports import Embedder, Hits, Vectors
from haru.recall.merge import Found
from haru.receipt import Source


@dataclass(slots=True)
class Shelf:
    """Memories and the corpus over them, built together off the event loop."""

    memories: dict[str, Memory]
    corpus: Corpus[str]


def shelve(memories: Sequence[Memory], embedder: Embedder | None) -> Shelf:
    """Analyse and embed memories. Takes tens of milliseconds a thousand: call it off the event loop."""
    by_id = {memory.id: memory for memory in memories}
    vectors: Vectors | None = None
    if embedder and by_id:
        vectors = embedder.embed([scoring.passage(memory) for memory in by_id.values()], "passage")
    documents = [
        (memory.id, scoring.document(memory, None if vectors is None else vectors[row]))
        for row, memory in enumerate(by_id.values())
    ]
    return Shelf(
        by_id,
        Corpus(
            documents, dim=embedder.dim if embedder else 0, weights=scoring.weights_for(embedder.id if embedder else "")
        ),
    )


@dataclass(slots=True)
class Cache:
    """What a session can recall without the index: the preload, and what searches brought since."""

    shelf: Shelf = field(default_factory=lambda: shelve((), None))
    _brought: dict[str, Found] = field(default_factory=dict[str, Found])

    def __len__(self) -> int:
        return len(self.shelf.memories)

    def fill(self, shelf: Shelf) -> None:
        """Take a new preload; memories that searches brought meanwhile stay."""
        kept = [found for found in self._brought.values() if found.memory.id not in shelf.memories]
        self.shelf = shelf
        for found in kept:
            self._put(found.memory, None)

    def bring(self, hits: Hits, source: Source, vectors: Mapping[str, Vectors]) -> None:
        """Take in what a search found: it serves this session's later turns."""
        for hit in hits.hits:
            self._brought[hit.memory.id] = Found(hit.memory, source, hit.score, hit.position, hits.ref)
            self._put(hit.memory, vectors.get(hit.memory.id))

    def drop(self, ids: Sequence[str]) -> None:
        """Memories that were forgotten or retired come up no more."""
        for gone in ids:
            self.shelf.corpus.drop(gone)
            self.shelf.memories.pop(gone, None)
            self._brought.pop(gone, None)

    def rank(self, question: scoring.Question, size: int) -> list[Found]:
        """The best of what is at hand; a fraction of a millisecond for a thousand memories."""
        ranked = self.shelf.corpus.rank(question, size=size, now_s=time.time())
        return [self._found(each.key, each.score, position) for position, each in enumerate(ranked)]

    def _found(self, key: str, score: float, position: int) -> Found:
        memory = self.shelf.memories[key]
        if brought := self._brought.get(key):
            return Found(memory, brought.source, score, brought.position, brought.ref)
        return Found(memory, "cache", score, position)

    def _put(self, memory: Memory, vector: Vectors | None) -> None:
        self.shelf.memories[memory.id] = memory
        self.shelf.corpus.put(memory.id, scoring.document(memory, vector))
