"""Make the static table: run every word piece through MiniLM once, and keep 64 numbers of each.

    python scripts/distil_static.py

Needs the extra ``semantic``; takes under a minute on one core. Writes ``src/haru/embed/static.npz``, the same file at
every run on the same machine. A piece stands alone in a sentence and its own vector is kept, not the sentence's
mean, which would be two thirds [CLS] and [SEP]. The 64 directions of most variance remain, on one scale for all,
as whole numbers from -127 to 127.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from haru.embed import wordpiece
from haru.embed.minilm import open_session, packaged, token_states
from haru.embed.static import DIM, IDENTITY, TABLE

BATCH = 256
FIRST_WORD = 999
"""The pieces before are placeholders and signs for the model: they have no meaning to keep."""


def main() -> None:
    """Make the table, write it and say what it is."""
    started = time.perf_counter()
    rows = whole_numbers(directions(states()))
    np.savez(TABLE, identity=np.array(IDENTITY), rows=rows)
    took = time.perf_counter() - started
    print(f"{TABLE.name}: {IDENTITY}, {len(rows)} rows, {TABLE.stat().st_size / 1e6:.1f} MB, {took:.0f} s")


def states() -> NDArray[np.float64]:
    """MiniLM's vector of every piece as the only one of a text. Shape (pieces, 384)."""
    session, vocabulary = open_session(packaged()), wordpiece.shipped()
    found: list[NDArray[np.float32]] = []
    for start in range(0, len(vocabulary), BATCH):
        numbers = range(start, min(start + BATCH, len(vocabulary)))
        texts = np.array([[vocabulary.start, number, vocabulary.end] for number in numbers], np.int64)
        found.append(token_states(session, texts)[:, 1])
    return np.concatenate(found).astype(np.float64)


def directions(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows along their `DIM` directions of most variance (PCA); zeros where a piece is no word."""
    centred = rows - rows[FIRST_WORD:].mean(axis=0)
    centred[:FIRST_WORD] = 0
    _, axes = np.linalg.eigh(centred.T @ centred)
    kept = axes[:, ::-1][:, :DIM]
    kept *= np.sign(kept[np.abs(kept).argmax(axis=0), np.arange(DIM)])  # which way an axis points is left to chance
    return centred @ kept


def whole_numbers(rows: NDArray[np.float64]) -> NDArray[np.int8]:
    """The rows on one scale from -127 to 127. The scale is not kept: only directions are compared."""
    return np.rint(rows * (127 / np.abs(rows).max())).astype(np.int8)


if __name__ == "__main__":
    main()
