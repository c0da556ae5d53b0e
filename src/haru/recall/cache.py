"""Cache: the memories that one session keeps at hand, ranked by the same scorer as the index."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from haru import scoring
from haru.corpus import Corpus, corpus_for
from haru.memory import Memory
from haru.ports import Hits
from haru.recall.catalogue import Catalogue
from haru.recall.merge import Found


@dataclass(slots=True)
class Shelf:
    """Memories and the corpus over them, built together off the event loop."""

    memories: dict[str, Memory]
    corpus: Corpus[str]
    catalogue: Catalogue
    """What made their documents; its embedder must read the question."""

    def put(self, memory: Memory, document: scoring.Document) -> None:
        """Add a memory or replace it."""
        self.memories[memory.id] = memory
        self.corpus.put(memory.id, document)

    def drop(self, key: str) -> None:
        """Take a memory out, if it is there."""
        self.memories.pop(key, None)
        self.corpus.drop(key)


def shelve(memories: Sequence[Memory], catalogue: Catalogue) -> Shelf:
    """Put memories together. A thousand new ones take some tenths of a second: call it off the event loop."""
    by_id = {memory.id: memory for memory in memories}
    corpus = corpus_for(catalogue.embedder, catalogue.documents(by_id.values()))
    return Shelf(by_id, corpus, catalogue)


@dataclass(frozen=True, slots=True)
class Brought:
    """A memory that a search brought."""

    found: Found
    document: scoring.Document
    catalogue: Catalogue
    """What made it."""


@dataclass(slots=True)
class Cache:
    """What a session can recall without the index: the preload, and what searches brought since."""

    shelf: Shelf
    forgotten: set[str] = field(default_factory=set[str])
    """Ids that come up no more, also where an answer on its way still has them."""
    _brought: dict[str, Brought] = field(default_factory=dict[str, Brought])

    def __len__(self) -> int:
        return len(self.shelf.memories)

    @property
    def brought(self) -> frozenset[str]:
        """Ids of the memories that searches brought."""
        return frozenset(self._brought)

    def fill(self, shelf: Shelf, *, gone: Collection[str] = ()) -> None:
        """Take a new preload; what searches brought stays, but for those known to be ``gone`` from the index."""
        for key in gone:
            self._brought.pop(key, None)
        for key, brought in self._brought.items():
            if key not in shelf.memories:
                same = brought.catalogue is shelf.catalogue
                shelf.put(brought.found.memory, brought.document if same else scoring.document(brought.found.memory))
        self.shelf = shelf
        for key in self.forgotten:
            shelf.drop(key)

    def bring(self, hits: Hits, documents: Mapping[str, scoring.Document], catalogue: Catalogue) -> None:
        """Take in what a search found, made into documents by a catalogue: it serves this session's later turns."""
        if catalogue is not self.shelf.catalogue:  # the shelf changed meanwhile: words alone still find a lot
            catalogue, documents = self.shelf.catalogue, {}
        for hit in hits.hits:
            memory = hit.memory
            if memory.id in self.forgotten:
                continue
            found = Found(memory, "late", hit.score, hit.position, hits.ref)
            document = documents.get(memory.id) or scoring.document(memory)
            self._brought[memory.id] = Brought(found, document, catalogue)
            self.shelf.put(memory, document)

    def forget(self, ids: Collection[str]) -> None:
        """These memories come up no more."""
        self.forgotten.update(ids)
        for key in ids:
            self.shelf.drop(key)
            self._brought.pop(key, None)

    def clear(self) -> None:
        """Hold nothing any more."""
        self.forget([*self.shelf.memories])

    def rank(self, question: scoring.Question, size: int) -> list[Found]:
        """The best of what is at hand; one to three milliseconds for a thousand memories."""
        ranked = self.shelf.corpus.rank(question, size=size, now_s=time.time())
        return [self._found(each.key, each.score, position) for position, each in enumerate(ranked)]

    def _found(self, key: str, score: float, position: int) -> Found:
        memory = self.shelf.memories[key]
        if brought := self._brought.get(key):
            return replace(brought.found, memory=memory, score=score)
        return Found(memory, "cache", score, position)
