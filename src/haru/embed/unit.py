"""Unit length: what every embedder's vectors have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haru.ports import Vectors


def unit(rows: NDArray[np.float32] | NDArray[np.float64]) -> Vectors:
    """Each row divided by its length; a row of zeros stays one. Shape (n, dim)."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0).astype(np.float32, copy=False)
