"""Ranking: from measures of candidates to the few that come back, best first. Pure arithmetic, no I/O."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from haru.coverage import covered
from haru.postings import Floats
from haru.scoring import Weights

_USUAL = 20
"""How many best a store has for any question; see `chosen`."""
_MONTH_S = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Measures:
    """How candidates compare with a question; a row a candidate."""

    lexical: Floats
    """BM25 as a share of what the question could reach, shape (n,)."""
    hits: Floats
    """Which terms it holds, shape (n, terms): 1 the word itself, less a sound-alike, 0 neither."""
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


def scores(measures: Measures, weights: Weights) -> Floats:
    """The weighted sum of all measures, shape (n,)."""
    covers = covered(*_answers(measures, weights))
    columns = np.stack([measures.lexical, measures.meaning, covers, measures.named], axis=1)
    return columns @ np.array([weights.lexical, weights.meaning, weights.coverage, weights.named], np.float32)


def standing(importance: Floats, uses: Floats, age_s: NDArray[np.float64], weights: Weights) -> Floats:
    """What a score is multiplied by for importance (1 to 5), uses, and seconds since the last change, shape (n,).

    Each moves the score by no more than its weight: they order what answers the question, and bring up nothing else.
    """
    share = (
        weights.importance * (importance - 3.0) / 2.0
        + weights.use * np.minimum(np.log1p(uses) / math.log(20.0), 1.0)
        + weights.recency * np.exp(-np.maximum(age_s, 0.0) / _MONTH_S)
    )
    return (1.0 + share).astype(np.float32)


def chosen(placed: Floats, score: Floats, weights: Weights, size: int) -> NDArray[np.int64]:
    """Numbers of those that come back, best first: none unless one is above the floor, and none far behind the best.

    What counts is how far the best stands out: where twenty memories are nearly as good, none of them is what was asked
    for. Half of what the twentieth reaches is taken off before the floor is applied.

    Args:
        placed: what they are ordered by, shape (n,).
        score: weighted sums, shape (n,).
        weights: floor and company.
        size: most that come back.
    """
    order = np.argsort(-placed, kind="stable")[:size]
    if not len(order):
        return order
    best = score[order].max()
    usual = np.partition(score, -_USUAL)[-_USUAL] if len(score) >= _USUAL else np.float32(0)
    if best - usual / 2 < weights.floor:
        return order[:0]
    return order[score[order] >= weights.company * best]


def _answers(measures: Measures, weights: Weights) -> tuple[Floats, Floats]:
    """How well each candidate answers to each part and to each term that no part stands for; what these are worth."""
    near = np.where(measures.close >= weights.nearest, weights.near * measures.close, np.float32(0))
    if measures.parts:
        content = np.array(measures.parts) >= 0
        near = np.maximum(near, np.where(content, measures.hits[:, measures.parts], np.float32(0)))
    unread = [number for number in range(measures.hits.shape[1]) if number not in measures.parts]
    worth = [1.0 if number >= 0 else weights.function for number in (*measures.parts, *unread)]
    return np.concatenate([near, measures.hits[:, unread]], axis=1), np.array(worth, np.float32)
