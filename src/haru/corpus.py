"""Corpus: memories as postings and vectors, and the ranking of them. No I/O."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from haru import postings
from haru.ports import Embedder
from haru.postings import Floats, Postings, Slots
from haru.scoring import Document, Question, Weights, weights_for

Key = TypeVar("Key", bound=Hashable)

CANDIDATES = 100
"""Best by BM25, and best by meaning, that are looked at closely."""
SCAN_FLOATS = 200_000 * 64
"""Larger vector stores are not scanned; the best by BM25 are compared by meaning."""
WORN_AT = 200
"""Fewer are never worn: what was replaced among them costs next to nothing."""
_DAY_S = 86_400.0
_ROW = np.dtype([("person", "i4"), ("importance", "f4"), ("use", "f4"), ("touched_s", "f8"), ("length", "f4")])
_SOUND = "~"
"""Sets keys of sounds apart from terms."""


@dataclass(frozen=True, slots=True)
class Ranked(Generic[Key]):
    """One memory that passed the floor."""

    key: Key
    score: float


@dataclass(frozen=True, slots=True)
class Background:
    """Word statistics of a whole store, for ranking a few memories out of it."""

    memories: int
    holding: Mapping[str, int]
    """How many memories hold a term."""
    length: float
    """Mean number of terms."""


class Corpus(Generic[Key]):
    """Memories as postings and vectors. Not safe for several threads at once."""

    def __init__(
        self,
        documents: Iterable[tuple[Key, Document]] = (),
        *,
        dim: int = 0,
        weights: Weights | None = None,
        background: Background | None = None,
    ) -> None:
        self.weights = weights or Weights()
        self.dim = dim
        self._background = background
        self._keys: list[Key] = []
        self._slot: dict[Key, int] = {}
        self._span: dict[str, tuple[int, int]] = {}
        self._all = postings.NONE
        self._fresh: dict[str, list[tuple[int, float]]] = {}
        self._persons: dict[str, int] = {}
        self._size = 0
        self._length_sum = 0.0
        self._alive = np.zeros(0, np.bool_)
        self._rows = np.zeros(0, _ROW)
        self._vectors = np.zeros((0, dim), np.float32)
        self._build(list(documents))

    def __len__(self) -> int:
        return len(self._slot)

    def __contains__(self, key: Key) -> bool:
        return key in self._slot

    @property
    def worn(self) -> bool:
        """So many memories were replaced or dropped that building anew is worth it."""
        return self._size > WORN_AT and self._size > 1.3 * len(self._slot)

    def put(self, key: Key, document: Document) -> None:
        """Add a memory or replace it."""
        self.drop(key)
        slot = self._place(key, document)
        counted = _counted(document)
        counts = np.array(list(counted.values()), np.float32)
        lengths = np.full(len(counts), len(document.terms), np.float32)
        for term, impact in zip(counted, postings.impact(counts, lengths, self._mean_length), strict=True):
            self._fresh.setdefault(term, []).append((slot, float(impact)))

    def drop(self, key: Key) -> None:
        """Take a memory out, if it is there."""
        slot = self._slot.pop(key, None)
        if slot is not None:
            self._alive[slot] = False
            self._length_sum -= float(self._rows[slot]["length"])

    def rank(self, question: Question, *, size: int, now_s: float) -> list[Ranked[Key]]:
        """At most ``size`` memories that answer the question, best first; fewer or none rather than noise."""
        if not question.terms or not self._slot:
            return []
        matched = [self._matching(term, sound) for term, sound in question.terms]
        allowed = self._allowed(question.person)
        found = postings.best([pair for pair in matched if len(pair[1].slots)], allowed, CANDIDATES)
        cosine = self._cosine(question.vector)
        if cosine is not None:
            close = np.where(allowed[: self._size], cosine, np.float32(-1))
            near = (
                np.argpartition(close, -CANDIDATES)[-CANDIDATES:] if len(close) > CANDIDATES else np.arange(len(close))
            )
            found = np.union1d(found, near[close[near] > 0]).astype(np.int32)
        lexical, coverage = _sums(matched, found, self.weights.unheard)
        meaning = self._meaning(found, question.vector, cosine)
        passed = self._passed(lexical, coverage, meaning)
        score = self._blend(lexical, meaning) * (1.0 + self._standing(found, now_s))
        found, score = found[passed], score[passed]
        order = np.lexsort((found, -score))[:size]
        return [Ranked(self._keys[int(found[i])], float(score[i])) for i in order]

    def _passed(self, lexical: Floats, coverage: Floats, meaning: Floats) -> NDArray[np.bool_]:
        by_words = (lexical > 0) & (0.5 * coverage + 0.5 * meaning >= self.weights.floor)
        return by_words | (meaning >= self.weights.meaning_alone)

    def _blend(self, lexical: Floats, meaning: Floats) -> Floats:
        top = max(float(lexical.max(initial=0.0)), 1e-9)
        return (lexical * (self.weights.lexical / top) + meaning * self.weights.meaning).astype(np.float32, copy=False)

    def _standing(self, found: Slots, now_s: float) -> Floats:
        """Importance, use and recency, each within its bound."""
        weights, rows = self.weights, self._rows[found]
        importance = (rows["importance"] - 3.0) / 2.0
        use = np.minimum(np.log1p(rows["use"]) / math.log(20.0), 1.0)
        age_days = np.maximum(now_s - rows["touched_s"], 0.0) / _DAY_S
        recency = np.exp(-age_days / 30.0)
        return (weights.importance * importance + weights.use * use + weights.recency * recency).astype(np.float32)

    def _matching(self, term: str, sound: str) -> tuple[float, Postings]:
        """Idf and postings of a term; of its sound-alikes where nobody ever wrote the word itself."""
        exact = self._postings(term)
        if not len(exact.slots) and sound:
            alike = self._postings(_SOUND + sound)
            if len(alike.slots):
                discounted = Postings(alike.slots, alike.impact * np.float32(self.weights.sound))
                return self._idf(_SOUND + sound, self._living(alike)), discounted
        return self._idf(term, self._living(exact)), exact

    def _cosine(self, vector: Floats | None) -> Floats | None:
        if vector is None or not self.dim or self._size * self.dim > SCAN_FLOATS:
            return None
        return self._vectors[: self._size] @ vector

    def _meaning(self, found: Slots, vector: Floats | None, cosine: Floats | None) -> Floats:
        if cosine is not None:
            return np.maximum(cosine[found], 0.0)
        if vector is None or not self.dim:
            return np.zeros(len(found), np.float32)
        return np.maximum(self._vectors[found] @ vector, 0.0)

    def _allowed(self, person: str | None) -> NDArray[np.bool_]:
        if person is None:
            return self._alive
        return self._alive & (self._rows["person"] == self._persons.get(person, -1))

    def _idf(self, term: str, holding: int) -> float:
        if self._background:
            memories, holding = self._background.memories, self._background.holding.get(term, holding)
            return postings.idf(max(memories, holding), holding)
        return postings.idf(len(self._slot), holding)

    def _living(self, holders: Postings) -> int:
        """How many memories hold a term now; a memory that was replaced often must not make its words common."""
        return int(self._alive[holders.slots].sum())

    def _postings(self, term: str) -> Postings:
        start, end = self._span.get(term, (0, 0))
        slots, impact = self._all.slots[start:end], self._all.impact[start:end]
        if fresh := self._fresh.get(term):
            slots = np.concatenate([slots, np.array([slot for slot, _ in fresh], np.int32)])
            impact = np.concatenate([impact, np.array([value for _, value in fresh], np.float32)])
        return Postings(slots, impact)

    @property
    def _mean_length(self) -> float:
        return self._background.length if self._background else self._length_sum / max(len(self._slot), 1)

    def _build(self, documents: Sequence[tuple[Key, Document]]) -> None:
        """Take in many memories at once; the keys must differ."""
        self._room(len(documents))
        numbers: dict[str, int] = {}
        rows: list[tuple[int, int, int, int]] = []
        for key, document in documents:
            slot = self._place(key, document)
            rows.extend(
                (numbers.setdefault(term, len(numbers)), slot, count, len(document.terms))
                for term, count in _counted(document).items()
            )
        table = np.array(rows, np.int32).reshape(-1, 4)
        table = table[np.argsort(table[:, 0], kind="stable")]  # stable: slots stay in order within a term
        counts, lengths = table[:, 2].astype(np.float32), table[:, 3].astype(np.float32)
        self._all = Postings(table[:, 1].copy(), postings.impact(counts, lengths, self._mean_length))
        ends = np.searchsorted(table[:, 0], np.arange(len(numbers)), side="right").tolist()
        self._span = dict(zip(numbers, zip([0, *ends], ends, strict=False), strict=True))

    def _place(self, key: Key, document: Document) -> int:
        slot = self._size
        self._room(slot + 1)
        self._size += 1
        self._length_sum += len(document.terms)
        self._keys.append(key)
        self._slot[key] = slot
        self._alive[slot] = True
        person = self._persons.setdefault(document.person, len(self._persons))
        self._rows[slot] = (person, document.importance, document.use_count, document.touched_s, len(document.terms))
        if self.dim and document.vector is not None:
            self._vectors[slot] = document.vector
        return slot

    def _room(self, wanted: int) -> None:
        """Make room for so many memories, doubling so that adding one by one stays cheap."""
        lacking = max(wanted, 2 * self._size) - len(self._alive)
        if wanted > len(self._alive):
            self._alive = np.concatenate([self._alive, np.zeros(lacking, np.bool_)])
            self._rows = np.concatenate([self._rows, np.zeros(lacking, _ROW)])
            self._vectors = np.concatenate([self._vectors, np.zeros((lacking, self.dim), np.float32)])


def corpus_for(
    embedder: Embedder | None, documents: Iterable[tuple[Key, Document]], background: Background | None = None
) -> Corpus[Key]:
    """A corpus for vectors of this embedder, with the weights that suit it; without one, for words alone."""
    dim, name = (embedder.dim, embedder.id) if embedder else (0, "")
    return Corpus(documents, dim=dim, weights=weights_for(name), background=background)


def _sums(matched: Sequence[tuple[float, Postings]], found: Slots, unheard: float) -> tuple[Floats, Floats]:
    """BM25 of each memory found, and the share of the question's idf that it holds."""
    lexical = np.zeros(len(found), np.float32)
    coverage = np.zeros(len(found), np.float32)
    total = sum(idf if len(holders.slots) else idf * unheard for idf, holders in matched)
    for idf, holders in matched:
        hit, impact = holders.look_up(found)
        lexical += np.float32(idf) * impact
        coverage += np.float32(idf / total) * hit
    return lexical, coverage


def _counted(document: Document) -> Counter[str]:
    counts = Counter(document.terms)
    for key in document.sounds:
        counts[_SOUND + key] = 1
    return counts
