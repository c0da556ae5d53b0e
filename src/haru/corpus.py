"""Corpus: memories as postings and vectors, and the ranking of them. No I/O."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from haru import postings, products, ranking
from haru.coverage import closest
from haru.measures import Matched, Measures, measured
from haru.ports import Embedder, Reading
from haru.postings import Floats, Postings, Slots
from haru.scoring import ABOUT, LEARNED, Document, Question, Weights, weights_for

Key = TypeVar("Key", bound=Hashable)

CANDIDATES = 100
"""Best by BM25, and best by meaning, that are looked at."""
COMPARED = 100
"""Best by both together that are compared part by part."""
SCAN_FLOATS = 200_000 * 64
"""Larger stores hold no vectors at hand and are not scanned; the best by BM25 are compared by meaning."""
WORN_AT = 200
"""Fewer are never worn: what was replaced among them costs next to nothing."""
_ROW = np.dtype([("person", "i4"), ("importance", "f4"), ("use", "f4"), ("touched_s", "f8"), ("length", "f4")])
_SOUND = "~"
"""Sets keys of sounds apart from terms."""

Read = tuple[bytes, bytes]
"""Vectors of a memory as they are kept: of the whole, empty where it is at hand already, and of its parts."""
_UNREAD: Read = (b"", b"")
LookUp = Callable[[Sequence[Key]], Mapping[Key, Read]]


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
        self._readings: dict[Key, Read] = {}
        made = list(documents)
        self.scanned = dim * len(made) <= SCAN_FLOATS
        """Whether the vectors are at hand and all of them are compared."""
        self._build(made)

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
        counted = Counter(told(document))
        counts = np.array(list(counted.values()), np.float32)
        lengths = np.full(len(counts), len(document.terms), np.float32)
        for term, impact in zip(counted, postings.impact(counts, lengths, self._mean_length), strict=True):
            self._fresh.setdefault(term, []).append((slot, float(impact)))

    def drop(self, key: Key) -> None:
        """Take a memory out, if it is there."""
        slot = self._slot.pop(key, None)
        self._readings.pop(key, None)
        if slot is not None:
            self._alive[slot] = False
            self._length_sum -= float(self._rows[slot]["length"])

    def rank(
        self, question: Question, *, size: int, now_s: float, look_up: LookUp[Key] | None = None
    ) -> list[Ranked[Key]]:
        """At most ``size`` memories that answer the question, best first; fewer or none rather than noise.

        Args:
            question: what is asked.
            size: most memories.
            now_s: seconds since 1970.
            look_up: finds the vectors and parts that this corpus does not hold itself.
        """
        if not question.terms or not self._slot:
            return []
        terms = [self._matching(term, sound) for term, sound in question.terms]
        allowed = self._allowed(question.person)
        found = postings.best([pair for term in terms for pair in term.pairs], allowed, CANDIDATES)
        cosine, meaning = self._cosine(question.reading), None
        if cosine is not None:
            looked_at = np.zeros(self._size, np.bool_)
            looked_at[found] = True
            looked_at[_nearest(np.where(allowed[: self._size], cosine, np.float32(-1)))] = True
            found = np.flatnonzero(looked_at).astype(np.int32)
            meaning = cosine[found]
        measures = measured(terms, question.parts, found, meaning, self.weights.unheard)
        if len(found) > COMPARED:
            first = measures.lexical + measures.meaning + self.weights.named * measures.named
            best = np.sort(np.argpartition(first, -COMPARED)[-COMPARED:])
            found, measures = found[best], measures.among(best)
        measures = self._compared(measures, question, found, look_up)
        score = ranking.scores(measures, self.weights)
        rows = self._rows[found]
        standing = ranking.standing(rows["importance"], rows["use"], now_s - rows["touched_s"], self.weights)
        named = np.float32(self.weights.named) * measures.named
        placed = np.multiply(standing, score + named, dtype=np.float32)
        back = ranking.chosen(placed, score, measures.hits.max(axis=1), self.weights, size)
        return [Ranked(self._keys[int(found[n])], float(placed[n])) for n in back]

    def _compared(self, measures: Measures, question: Question, found: Slots, look_up: LookUp[Key] | None) -> Measures:
        """The same, compared part by part."""
        if question.reading is None:
            return measures
        keys: list[Key] = [self._keys[slot] for slot in found.tolist()]
        readings = look_up(keys) if look_up else self._readings
        compared = replace(
            measures, close=closest(question.reading.tokens, [readings.get(key, _UNREAD)[1] for key in keys])
        )
        if self.scanned:
            return compared
        nothing = bytes(4 * self.dim)
        rows = np.frombuffer(b"".join(readings.get(key, _UNREAD)[0] or nothing for key in keys), np.float32)
        return replace(
            compared,
            meaning=np.maximum(products.with_vector(rows.reshape(len(keys), -1), question.reading.vector), 0.0),
        )

    def _matching(self, term: str, sound: str) -> Matched:
        """Who holds a term; who holds a sound-alike of it, where nobody ever wrote the word itself."""
        about, learned = self._postings(ABOUT + term), self._postings(LEARNED + term)
        if len(learned.slots):
            learned = Postings(learned.slots, np.full(len(learned.slots), self.weights.learned, np.float32))
        holders, value = self._postings(term), 1.0
        if not len(holders.slots) and sound:
            alike = self._postings(sounding(sound))
            if len(alike.slots):
                term, value = sounding(sound), self.weights.sound
                holders = Postings(alike.slots, alike.impact * np.float32(value))
        return Matched(self._idf(term, self._living(holders)), holders, value, about, learned)

    def _cosine(self, reading: Reading | None) -> Floats | None:
        if reading is None or not self.dim or not self.scanned:
            return None
        return products.with_vector(self._vectors[: self._size], reading.vector)

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
        span, fresh = self._span.get(term), self._fresh.get(term)
        if not span and not fresh:
            return postings.NONE
        start, end = span or (0, 0)
        slots, impact = self._all.slots[start:end], self._all.impact[start:end]
        if fresh:
            slots = np.concatenate([slots, np.array([slot for slot, _ in fresh], np.int32)])
            impact = np.concatenate([impact, np.array([value for _, value in fresh], np.float32)])
        return Postings(slots, impact)

    @property
    def _mean_length(self) -> float:
        return self._background.length if self._background else self._length_sum / max(len(self._slot), 1)

    def _build(self, documents: Sequence[tuple[Key, Document]]) -> None:
        """Take in many memories at once; the keys must differ."""
        size = len(documents)
        self._room(size)
        self._size = size
        self._keys = [key for key, _ in documents]
        self._slot = {key: slot for slot, key in enumerate(self._keys)}
        self._alive[:size] = True
        self._rows[:size] = np.array([self._row(document) for _, document in documents], _ROW)
        self._length_sum = sum(len(document.terms) for _, document in documents)
        for slot, (key, document) in enumerate(documents):
            self._hold(slot, key, document)
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__  # the next one, for a term that was not there
        found_by = [told(document) for _, document in documents]
        terms = np.fromiter((numbers[term] for each in found_by for term in each), np.int64)
        slots = np.repeat(np.arange(size), [len(each) for each in found_by])
        pairs, counts = np.unique(terms * max(size, 1) + slots, return_counts=True)
        term, slot = np.divmod(pairs, max(size, 1))
        impact = postings.impact(counts.astype(np.float32), self._rows["length"][slot], self._mean_length)
        self._all = Postings(slot.astype(np.int32), impact)
        ends = np.searchsorted(term, np.arange(len(numbers)), side="right").tolist()
        self._span = dict(zip(numbers, zip([0, *ends], ends, strict=False), strict=True))

    def _place(self, key: Key, document: Document) -> int:
        slot = self._size
        self._room(slot + 1)
        self._size += 1
        self._length_sum += len(document.terms)
        self._keys.append(key)
        self._slot[key] = slot
        self._alive[slot] = True
        self._rows[slot] = self._row(document)
        self._hold(slot, key, document)
        return slot

    def _row(self, document: Document) -> tuple[float, ...]:
        """A row of `_ROW`."""
        person = self._persons.setdefault(document.person, len(self._persons))
        return person, document.importance, document.use_count, document.touched_s, len(document.terms)

    def _hold(self, slot: int, key: Key, document: Document) -> None:
        """Keep its vectors."""
        if self.scanned and document.vector is not None:
            self._vectors[slot] = document.vector
        if document.tokens is not None:
            vector = b"" if self.scanned or document.vector is None else document.vector.tobytes()
            self._readings[key] = (vector, document.tokens)

    def _room(self, wanted: int) -> None:
        """Make room for so many memories, doubling so that adding one by one stays cheap."""
        lacking = max(wanted, 2 * self._size) - len(self._alive)
        if wanted > len(self._alive):
            self._alive = np.concatenate([self._alive, np.zeros(lacking, np.bool_)])
            self._rows = np.concatenate([self._rows, np.zeros(lacking, _ROW)])
            if self.scanned:
                self._vectors = np.concatenate([self._vectors, np.zeros((lacking, self.dim), np.float32)])


def corpus_for(
    embedder: Embedder | None, documents: Iterable[tuple[Key, Document]], background: Background | None = None
) -> Corpus[Key]:
    """A corpus for vectors of this embedder, with the weights that suit it; without one, for words alone."""
    dim, name = (embedder.dim, embedder.id) if embedder else (0, "")
    return Corpus(documents, dim=dim, weights=weights_for(name), background=background)


def _nearest(cosine: Floats) -> Slots:
    """The nearest hundred that are near at all."""
    best = np.argpartition(cosine, -CANDIDATES)[-CANDIDATES:] if len(cosine) > CANDIDATES else np.arange(len(cosine))
    return best[cosine[best] > 0].astype(np.int32)


def told(document: Document) -> list[str]:
    """All that a memory is found by; sounds and marks once, terms as often as they stand there."""
    return [*document.terms, *map(sounding, document.sounds), *document.marks]


def sounding(key: str) -> str:
    """A key of a sound as it stands among terms."""
    return _SOUND + key
