"""Postings: which memories hold a term, and the exact best by BM25 among them.

MaxScore (Turtle and Flood 1995) in plain numpy: rare terms first; a frequent term is only looked up for the memories
that can still reach the best. k1 and b are those for short texts, idf is Lucene's. No I/O.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

K1 = 0.9
B = 0.4

Floats = NDArray[np.float32]
Slots = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Postings:
    """Memories that hold a term, in order of slot."""

    slots: Slots
    impact: Floats
    """BM25 without idf."""

    def look_up(self, slots: Slots) -> tuple[NDArray[np.bool_], Floats]:
        """Which of these memories hold the term, and the impact in each."""
        if not len(self.slots):
            return np.zeros(len(slots), np.bool_), np.zeros(len(slots), np.float32)
        at = np.searchsorted(self.slots, slots)
        at[at == len(self.slots)] = 0
        hit = self.slots[at] == slots
        return hit, np.where(hit, self.impact[at], np.float32(0))


NONE = Postings(np.zeros(0, np.int32), np.zeros(0, np.float32))


def idf(memories: int, holding: int) -> float:
    """How telling a term is that so many of the memories hold."""
    return math.log(1.0 + (memories - holding + 0.5) / (holding + 0.5))


def impact(counts: Floats, lengths: Floats, mean: float) -> Floats:
    """BM25 without idf, of a term that stands so often in memories of such lengths."""
    return (counts * (K1 + 1.0) / (counts + K1 * (1.0 - B + B * lengths / max(mean, 1.0)))).astype(np.float32)


def best(matched: Sequence[tuple[float, Postings]], allowed: NDArray[np.bool_], wanted: int) -> Slots:
    """The ``wanted`` best by the sum of idf times impact, in order of slot; more where they tie."""
    by_rarity = sorted(matched, key=lambda pair: len(pair[1].slots))
    bounds = [weight * float(postings.impact.max()) for weight, postings in by_rarity]
    rest = sum(bounds)
    slots, scores = NONE.slots, NONE.impact
    threshold = 0.0
    for bound, (weight, postings) in zip(bounds, by_rarity, strict=True):
        if rest <= threshold:  # no unseen memory can enter the best any more
            keep = scores + rest >= threshold
            slots, scores = slots[keep], scores[keep]
            scores = np.add(scores, postings.look_up(slots)[1] * np.float32(weight), dtype=np.float32)
        else:
            mask = allowed[postings.slots]
            slots, scores = _summed(slots, scores, postings.slots[mask], postings.impact[mask] * np.float32(weight))
        rest -= bound
        if len(scores) > wanted:
            threshold = max(threshold, float(np.partition(scores, -wanted)[-wanted]))
    return slots[scores >= threshold] if len(scores) > wanted else slots


def _summed(slots: Slots, scores: Floats, more: Slots, values: Floats) -> tuple[Slots, Floats]:
    """Scores added up by slot, in order of slot."""
    together = np.concatenate([slots, more])
    if not len(slots) or not len(together):
        return together, np.concatenate([scores, values])
    order = np.argsort(together, kind="stable")
    together, both = together[order], np.concatenate([scores, values])[order]
    first = np.flatnonzero(np.concatenate([[True], together[1:] != together[:-1]]))
    return together[first], np.add.reduceat(both, first)
