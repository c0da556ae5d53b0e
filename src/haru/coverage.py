"""Coverage: how much of a question a memory answers to, part by part. No I/O.

Each part of the question (a word, or a model's piece of one) is compared with the part of the memory that is closest to
it: 1 where the memory holds the very word, less for a sound-alike, and the cosine of their vectors where it does not.
What many memories answer to tells little and weighs little, so that no list of weights is needed. The comparison is the
MaxSim of ColBERT (Khattab and Zaharia 2020), with exact words and such weights added.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haru import products
from haru.postings import Floats

STEPS = 127
_COMMON = 0.05
"""Keeps the weight of a part that nothing answers to finite."""
_FEW = 50
"""Fewer memories don't tell what is common: the rest is taken not to answer."""


def stored(tokens: Floats) -> bytes:
    """Vectors of parts, shape (n, dim), in the form that is kept: a byte a number; rows of zeros are left out."""
    return np.rint(tokens[tokens.any(axis=1)] * STEPS).astype(np.int8).tobytes()


def closest(asked: Floats, memories: Sequence[bytes]) -> Floats:
    """Cosine of each part of the question with the nearest part of each memory, shape (memories, parts).

    Args:
        asked: vectors of the parts of the question, shape (parts, dim).
        memories: those of each memory, as `stored` makes them.
    """
    dim = asked.shape[1]
    lengths = np.array([len(tokens) // max(dim, 1) for tokens in memories])
    found = np.zeros((len(memories), len(asked)), np.float32)
    some = lengths > 0
    if some.any() and len(asked):
        parts = np.frombuffer(b"".join(memories), np.int8).reshape(-1, dim).astype(np.float32)
        starts = np.concatenate([[0], np.cumsum(lengths[some])[:-1]])
        found[some] = np.maximum.reduceat(products.with_columns(parts, asked.T / np.float32(STEPS)), starts, axis=0)
    return np.maximum(found, 0.0)


def covered(answers: Floats, worth: Floats) -> Floats:
    """How much of the question each memory answers to, from 0 to 1.

    Args:
        answers: how well each memory answers to each part, shape (memories, parts), from 0 to 1.
        worth: what each part counts besides how common it is, shape (parts,).
    """
    if not answers.size:
        return np.zeros(len(answers), np.float32)
    weights = worth / (answers.sum(axis=0) / max(len(answers), _FEW) + _COMMON)
    return (answers @ (weights / weights.sum())).astype(np.float32)
