"""Heard: what a recogniser has said so far, and how much of it will stay. Pure.

The newest word of a partial text is often still changing. What two partials in a row agree on hardly ever does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from haru import words
from haru.memory import Memory

SEVERAL = 3
"""So many terms tell what is meant, whatever the last word was."""


@dataclass(frozen=True, slots=True)
class Said:
    """Words that may be searched."""

    terms: frozenset[str]
    """What they are about, whatever their order, inflection and filler; empty for small talk."""
    query: str
    """The words as they are sent to the index: as said, without filler."""


def said(text: str) -> Said:
    """What a text is about, and how it is asked."""
    return Said(frozenset(term for term, _ in words.query_terms(text)), words.asked(text))


def stable(before: str, now: str) -> str:
    """The words at the start of a partial text that the one before it had too; all of them where nothing changed.

    Case and punctuation don't count: recognisers mend them afterwards.
    """
    spoken = now.split()
    agreed = takewhile(lambda pair: _alike(*pair), zip(before.split(), spoken, strict=False))
    return " ".join(spoken[: sum(1 for _ in agreed)])


def will_do(searched: frozenset[str], said: frozenset[str], best: Memory) -> bool:
    """Whether hits for some of the words said, ranked by all, will do for them.

    They do where the rest is one word after several, or where the best memory holds it. A rest that is held by nothing
    at hand may be what the question is about: after two words alone it was in one turn of a hundred.

    Args:
        searched: terms that the hits were found with.
        said: all terms.
        best: the first of the ranking.
    """
    rest = said - searched
    return (len(rest) <= 1 and len(searched) >= SEVERAL) or rest <= set(words.terms(f"{best.subject} {best.text}"))


def _alike(one: str, other: str) -> bool:
    return one == other or _plain(one) == _plain(other)


def _plain(word: str) -> str:
    return "".join(sign for sign in words.fold(word) if sign.isalnum())
