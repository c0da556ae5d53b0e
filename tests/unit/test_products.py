"""Products on one thread are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from haru.products import with_columns, with_vector


@pytest.mark.parametrize(
    ("rows", "dim", "columns"), [(0, 4, 3), (1, 1, 1), (7, 64, 0), (1000, 384, 12), (3, 70_000, 5)]
)
def test_in_pieces_as_in_one(rows: int, dim: int, columns: int) -> None:
    """Whatever does not fit into a piece, and where a single row is more than one."""
    chance = np.random.default_rng(rows)
    one, other = chance.normal(size=(rows, dim)), chance.normal(size=(dim, columns))
    left, right = one.astype(np.float32), other.astype(np.float32)
    np.testing.assert_allclose(with_columns(left, right), one @ other, atol=2e-2, rtol=1e-3)
    assert with_columns(left, right).dtype == np.float32


@pytest.mark.parametrize(("rows", "dim"), [(0, 4), (1, 1), (1000, 64)])
def test_with_a_vector(rows: int, dim: int) -> None:
    """A row's dot product each."""
    chance = np.random.default_rng(dim)
    one, vector = chance.normal(size=(rows, dim)), chance.normal(size=dim)
    found = with_vector(one.astype(np.float32), vector.astype(np.float32))
    np.testing.assert_allclose(found, one @ vector, atol=1e-3)
    assert found.dtype == np.float32
