"""Unit length, and zeros where there is no direction."""

from __future__ import annotations

import numpy as np

from haru.embed.unit import unit


def test_rows_keep_their_direction_at_length_one() -> None:
    """Only the length of a row changes; a row of zeros has none to change."""
    rows = unit(np.array([[3.0, 4.0], [0.0, 0.0], [-0.5, 0.0]]))
    assert rows.dtype == np.float32
    assert np.allclose(rows, [[0.6, 0.8], [0.0, 0.0], [-1.0, 0.0]])
