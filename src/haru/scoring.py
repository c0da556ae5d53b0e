"""Scoring: what the one scorer goes by. The index and the session's fallback both rank with it, in `haru.corpus`.

A score is a weighted sum of BM25 over the terms and cosine of the vectors. Whether a memory may come back at all is
decided apart from that, by an absolute measure: how much of the question's weight the memory holds, and how close its
meaning is. Importance, use and recency then order what passed, within bounds; they never create a hit.
"""

from __future__ import annotations

from dataclasses import dataclass

from haru import words
from haru.memory import Memory
from haru.postings import Floats


@dataclass(frozen=True, slots=True)
class Weights:
    """The scalars of the scorer."""

    lexical: float = 0.45
    meaning: float = 0.45
    sound: float = 0.6
    """What a sound-alike counts, against the word itself."""
    unheard: float = 0.5
    """What a word counts, in the question's weight, that no memory holds: it tells nothing between them."""
    floor: float = 0.30
    """Least of ``0.5 coverage + 0.5 cosine`` of a hit that shares a term."""
    meaning_alone: float = 0.62
    """Cosine that is enough, though no term be shared."""
    importance: float = 0.03
    """Most that importance adds or takes, as a share of the score."""
    use: float = 0.03
    recency: float = 0.02


def weights_for(embedder_id: str) -> Weights:
    """The scalars that suit an embedder: cosines of a sentence encoder are lower and mean more than a word table's."""
    if embedder_id.startswith("minilm"):
        return Weights(lexical=0.30, meaning=0.70, floor=0.28, meaning_alone=0.40)
    return Weights()


@dataclass(frozen=True, slots=True)
class Document:
    """What the scorer keeps of a memory."""

    terms: tuple[str, ...]
    sounds: tuple[str, ...] = ()
    vector: Floats | None = None
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
    vector: Floats | None = None
    person: str | None = None
    """Only this person's memories; ``None`` means anybody's."""


def document(memory: Memory, vector: Floats | None = None) -> Document:
    """What the scorer keeps of a memory: its sentence, subject, tags, learned questions and date as terms."""
    day = memory.created_at
    fields = [memory.text, memory.subject, *memory.tags, *memory.expected_queries, f"{day:%B} {day.day} {day.year}"]
    return Document(
        terms=tuple(term for field in fields for term in words.terms(field)),
        sounds=tuple(dict.fromkeys(words.name_sounds(f"a {memory.subject}") + words.name_sounds(memory.text))),
        vector=vector,
        person=memory.person,
        importance=memory.importance,
        use_count=memory.use_count,
        touched_s=(memory.last_used_at or memory.updated_at).timestamp(),
    )


def passage(memory: Memory) -> str:
    """The text of a memory whose meaning is compared."""
    return f"{memory.subject}: {memory.text}" if memory.subject else memory.text


def question(text: str, vector: Floats | None = None, person: str | None = None) -> Question:
    """A question from the words as said."""
    return Question(tuple(words.query_terms(text)), vector, person)
