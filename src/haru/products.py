"""Products: of matrices and vectors, on one thread.

From some size on BLAS spreads a product over all cores, and its threads spin for a while after: a search that takes a
millisecond then costs several, taken from speech beside it. OpenBLAS stays on one thread below the sizes here.
"""

from __future__ import annotations

import numpy as np

from haru.postings import Floats

_MULTIPLICATIONS = 200_000
"""OpenBLAS takes more threads from 262,144 on."""


def with_vector(rows: Floats, vector: Floats) -> Floats:
    """Each row's dot product with a vector: shape (n,) for (n, dim)."""
    return np.einsum("ij,j->i", rows, vector, dtype=np.float32)  # numpy's own loop


def with_columns(rows: Floats, columns: Floats) -> Floats:
    """Each row's dot products with the columns: shape (n, m) for (n, dim) and (dim, m)."""
    found = np.empty((len(rows), columns.shape[1]), np.float32)
    step = max(_MULTIPLICATIONS // max(columns.size, 1), 1)
    for start in range(0, len(rows), step):
        np.matmul(rows[start : start + step], columns, out=found[start : start + step])
    return found
