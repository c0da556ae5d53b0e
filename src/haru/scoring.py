"""Scoring: what the one scorer goes by. The index and the session's fallback both rank with it, in `haru.corpus`.

A score is a weighted sum of BM25 as a share of what the question could reach, the cosine of the whole sentences, and
how much of the question the memory covers part by part (`haru.coverage`). None of them is a share of the best hit's,
so the same sum tells how much is enough: below the floor nothing is said. Whether it is about the person named,
importance, use and recency then order what passed, within bounds; they never create a hit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from haru import words
from haru.coverage import stored
from haru.memory import Memory
from haru.ports import Embedder, Reading
from haru.postings import Floats

ABOUT = "@"
"""Before the terms of the names of whom a memory is about."""
LEARNED = "+"
"""Before the terms of questions that it has answered."""
_FEW_WORDS = 2
_QUESTIONS_READ = 2
_QUESTION_COUNTS = 0.5
"""What closeness to a question that it answered counts, against closeness to the memory itself."""
ANALYSIS = 3
"""Version of how a memory becomes terms. An index made by another one is analysed anew."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The scalars of the scorer, for one sort of embedder. `scripts/fit_weights.py` chooses them."""

    lexical: float = 0.20
    """BM25, as a share of what the question could reach."""
    meaning: float = 0.30
    """Cosine of the sentences."""
    coverage: float = 0.50
    """How much of the question the memory answers to, part by part."""
    named: float = 0.08
    """Added where the memory is about the person named."""
    word: float = 1.0
    """What a word held counts by itself; the rest of 1 comes with the share of the question's words held with it. One
    common word must not outrank a memory that means the same."""
    near: float = 0.5
    """What closeness in meaning counts in the coverage, against the word itself."""
    nearest: float = 0.35
    """Cosine from which on two words are close at all."""
    function: float = 0.4
    """What a part counts that is no content word, against one that is."""
    sound: float = 0.6
    """What a sound-alike counts, against the word itself."""
    learned: float = 0.5
    """What a word counts that only stood in questions it answered, against the word itself."""
    unheard: float = 0.5
    """What a word counts, in the question's weight, that no memory holds: it tells nothing between them."""
    floor: float = 0.215
    """How far the best memory must stand out; below it nothing comes back. See `haru.ranking.chosen`."""
    floor_apart: float = 0.215
    """The same for a memory that has no word in common with the question."""
    company: float = 0.5
    """Least score of a memory, as a share of the best one's."""
    importance: float = 0.03
    """Most that importance adds or takes, as a share of the score."""
    use: float = 0.03
    recency: float = 0.02


STATIC = Weights()
MINILM = Weights(
    lexical=0.05,
    meaning=0.25,
    coverage=0.70,
    word=0.2,
    near=1.0,
    nearest=0.0,
    function=0.1,
    floor=0.310,
    floor_apart=0.23,
    company=0.6,
)


def weights_for(embedder_id: str) -> Weights:
    """The scalars that suit an embedder: cosines of a sentence encoder are lower and mean more than a word table's."""
    return MINILM if embedder_id.startswith("minilm") else STATIC


@dataclass(frozen=True, slots=True)
class Document:
    """What the scorer keeps of a memory."""

    terms: tuple[str, ...]
    sounds: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    """Terms with a sign before them: `ABOUT` for the names of whom it is about, `LEARNED` for words of questions that
    it has answered."""
    vector: Floats | None = None
    tokens: bytes | None = None
    """Vectors of its parts; see `haru.coverage.stored`."""
    person: str = ""
    importance: int = 3
    use_count: int = 0
    touched_s: float = 0.0
    """When it was last changed or used, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, ready to be ranked against."""

    terms: tuple[tuple[str, str], ...]
    """Term and key of its sound."""
    reading: Reading | None = None
    parts: tuple[int, ...] = ()
    """For each part of the reading the number of its term; -1 where it is no content word."""
    person: str | None = None
    """Only this person's memories; ``None`` means anybody's."""


def document(memory: Memory, reading: Reading | None = None) -> Document:
    """What the scorer keeps of a memory: its sentence, subject, tags, learned questions and date as terms."""
    day = memory.created_at
    fields = [memory.text, memory.subject, *memory.tags, f"{day:%B} {day.day} {day.year}"]
    terms = tuple(term for field in fields for term in words.terms(field))
    about = words.terms(" ".join([memory.about, *words.names(f"a {memory.subject}")]))
    learned = (term for query in memory.expected_queries for term in words.terms(query) if term not in terms)
    titles = [f"a {field}" for field in (memory.subject, *memory.tags)]  # a capital at the start is a name's here
    return Document(
        terms=terms,
        sounds=tuple(dict.fromkeys(sound for field in (memory.text, *titles) for sound in words.name_sounds(field))),
        marks=tuple(dict.fromkeys([*(ABOUT + term for term in about), *(LEARNED + term for term in learned)])),
        vector=reading.vector if reading else None,
        tokens=stored(reading.tokens) if reading else None,
        person=memory.person,
        importance=memory.importance,
        use_count=memory.use_count,
        touched_s=(memory.last_used_at or memory.updated_at).timestamp(),
    )


def passage(memory: Memory) -> str:
    """The text of a memory whose meaning is compared."""
    return f"{memory.subject}: {memory.text}" if memory.subject else memory.text


def read(memories: Sequence[Memory], embedder: Embedder) -> list[Reading]:
    """Memories as an embedder reads them: each sentence, with the parts of the newest questions that it answered.

    Raises:
        IndexFailure: the embedder cannot be used.
    """
    asked = [[wording(query) for query in memory.expected_queries[-_QUESTIONS_READ:]] for memory in memories]
    texts = [passage(memory) for memory in memories]
    found = embedder.read([*texts, *(query for each in asked for query in each)], "passage")
    sentences, questions = found[: len(texts)], iter(found[len(texts) :])
    return [
        _joined(sentence, list(islice(questions, len(each)))) for sentence, each in zip(sentences, asked, strict=True)
    ]


def _joined(sentence: Reading, questions: Sequence[Reading]) -> Reading:
    if not questions:
        return sentence
    parts = [sentence.tokens, *(np.float32(_QUESTION_COUNTS) * each.tokens for each in questions)]
    return Reading(sentence.vector, np.concatenate(parts), sentence.words)


def wording(text: str) -> str:
    """The words of a question that an embedder is to read; "" where there is nothing to ask.

    One or two content words are read alone: in "what car do I have" the rest would drown what is asked for. More of
    them get a question mark, which a recogniser leaves out and a sentence encoder goes by.
    """
    content = words.content(text)
    return " ".join(content) if len(content) <= _FEW_WORDS else words.asked(text).rstrip(" .!?") + "?"


def question(text: str, reading: Reading | None = None, person: str | None = None) -> Question:
    """A question from the words as said."""
    terms = words.query_terms(text)
    if reading is None:
        return Question(terms, person=person)
    numbers = {term: number for number, (term, _) in enumerate(terms)}
    spoken = words.language(text)

    def number(word: str) -> int:
        """Of the term that a word stands in: in the form of its language, or in the English one."""
        return numbers.get(words.term(word, spoken), numbers.get(words.term(word), -1))

    return Question(terms, reading, tuple(number(words.fold(word)) for word in reading.words), person)
