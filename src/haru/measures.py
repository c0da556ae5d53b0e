"""Measures: how candidates compare with a question, from the memories that hold its words. Pure arithmetic, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from haru.postings import Floats, Postings, Slots


@dataclass(frozen=True, slots=True)
class Matched:
    """What a term of the question matches."""

    idf: float
    holders: Postings
    value: float
    """What they answer with: 1 for the word itself, less for a sound-alike."""
    about: Postings
    """Who is about the person of that name."""
    learned: Postings
    """Who has answered questions with this word; the impact is what they answer with."""

    @property
    def pairs(self) -> list[tuple[float, Postings]]:
        """What there is to search, each with its idf."""
        return [(self.idf, postings) for postings in (self.holders, self.learned) if len(postings.slots)]


@dataclass(frozen=True, slots=True)
class Measures:
    """How candidates compare with a question; a row a candidate."""

    lexical: Floats
    """BM25 as a share of what the question could reach, shape (n,)."""
    hits: Floats
    """Which terms it holds, shape (n, terms): 1 the word itself, less a sound-alike or a learned word, 0 none."""
    meaning: Floats
    """Cosine of the sentences, shape (n,)."""
    named: Floats
    """1 where it is about a person named, shape (n,)."""
    close: Floats
    """Cosine of each part of the question with the nearest part of it, shape (n, parts)."""
    parts: tuple[int, ...]
    """For each part the number of its term; -1 where it is no content word."""

    def among(self, rows: NDArray[np.int64]) -> Measures:
        """Those of some candidates."""
        arrays = ("lexical", "hits", "meaning", "named", "close")
        return replace(self, **{name: getattr(self, name)[rows] for name in arrays})


def measured(
    terms: Sequence[Matched], parts: tuple[int, ...], found: Slots, meaning: Floats | None, unheard: float
) -> Measures:
    """What postings and vectors tell of candidates, before they are compared part by part.

    Args:
        terms: what each term of the question matches.
        parts: see `Measures`.
        found: slots of the candidates, in order.
        meaning: cosines of their sentences, where these are known already.
        unheard: what a word counts that nobody holds, against one that somebody does.
    """
    lexical = np.zeros(len(found), np.float32)
    hits = np.zeros((len(found), len(terms)), np.float32)
    named = np.zeros(len(found), np.float32)
    for number, term in enumerate(terms):
        hit, impact = term.holders.look_up(found)
        lexical += np.float32(term.idf) * impact
        hits[:, number] = hit * np.float32(term.value)
        if len(term.learned.slots):
            hits[:, number] = np.maximum(hits[:, number], term.learned.look_up(found)[1])
        if len(term.about.slots):
            named[term.about.look_up(found)[0]] = 1.0
    reach = sum(term.idf if len(term.holders.slots) else term.idf * unheard for term in terms)
    return Measures(
        lexical=lexical / np.float32(max(reach, 1e-6)),
        hits=hits,
        meaning=np.zeros(len(found), np.float32) if meaning is None else np.maximum(meaning, 0.0),
        named=named,
        close=np.zeros((len(found), len(parts)), np.float32),
        parts=parts,
    )
