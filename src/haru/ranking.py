"""Ranking: from measures of candidates to the few that come back, best first. Pure arithmetic, no I/O."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from haru.coverage import covered
from haru.measures import Measures
from haru.postings import Floats
from haru.scoring import Weights

_USUAL = 20
"""How many best a store has for any question; see `chosen`."""
_MONTH_S = 30 * 86_400.0


def scores(measures: Measures, weights: Weights) -> Floats:
    """How well each answers, whoever it is about: the weighted sum of words, sentence and parts, shape (n,)."""
    columns = np.stack([measures.lexical, measures.meaning, covered(*_answers(measures, weights))], axis=1)
    return columns @ np.array([weights.lexical, weights.meaning, weights.coverage], np.float32)


def standing(importance: Floats, uses: Floats, age_s: NDArray[np.float64], weights: Weights) -> Floats:
    """What a score is multiplied by for importance (1 to 5), uses, and seconds since the last change, shape (n,).

    Each moves the score by no more than its weight: they order what answers the question, and bring up nothing else.
    What uses add is gone by two thirds half a year after the last one.
    """
    age_s = np.maximum(age_s, 0.0)
    share = (
        weights.importance * (importance - 3.0) / 2.0
        + weights.use * np.minimum(np.log1p(uses) / math.log(20.0), 1.0) * np.exp(-age_s / (6 * _MONTH_S))
        + weights.recency * np.exp(-age_s / _MONTH_S)
    )
    return (1.0 + share).astype(np.float32)


def chosen(placed: Floats, score: Floats, shared: Floats, weights: Weights, size: int) -> NDArray[np.int64]:
    """Numbers of those that come back, best first: none unless one stands out, and none far behind the best.

    Where twenty memories are nearly as good, none of them is what was asked for: half of what the twentieth reaches is
    taken off before the floor is applied. One that has words in common with the question must clear more than one that
    has none: some of the words and not the others is what a memory about something else looks like.

    Args:
        placed: what they are ordered by, shape (n,).
        score: how well they answer, shape (n,).
        shared: the most that they answer with to any one word of the question; 0 where they share none, shape (n,).
        weights: floors and company.
        size: most that come back.
    """
    order = np.argsort(-placed, kind="stable")[:size]
    usual = np.partition(score, -_USUAL)[-_USUAL] if len(score) >= _USUAL else np.float32(0)
    floors = np.where(shared[order] > 0, weights.floor, weights.floor_apart)
    if not (score[order] - usual / 2 >= floors).any():
        return order[:0]
    return order[placed[order] >= weights.company * placed[order[0]]]


def _answers(measures: Measures, weights: Weights) -> tuple[Floats, Floats]:
    """How well each candidate answers to each part and to each term that no part stands for; what these are worth."""
    share = np.minimum(measures.lexical, 1.0)[:, np.newaxis]
    held = measures.hits * (weights.word + (1.0 - weights.word) * share)
    near = np.where(measures.close >= weights.nearest, weights.near * measures.close, np.float32(0))
    if measures.parts:
        content = np.array(measures.parts) >= 0
        near = np.maximum(near, np.where(content, held[:, measures.parts], 0.0))
    unread = [number for number in range(measures.hits.shape[1]) if number not in measures.parts]
    worth = [1.0 if number >= 0 else weights.function for number in (*measures.parts, *unread)]
    return np.concatenate([near, held[:, unread]], axis=1, dtype=np.float32), np.array(worth, np.float32)
