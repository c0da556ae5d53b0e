"""How much of a question a memory answers to, part by part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from haru.coverage import closest, covered, stored
from haru.postings import Floats

EAST, NORTH = [1.0, 0.0], [0.0, 1.0]
shares = arrays.arrays(np.float32, st.tuples(st.integers(1, 40), st.integers(1, 8)), elements=st.floats(0, 1, width=32))


def test_each_part_meets_the_nearest_part_of_each_memory() -> None:
    """Of a memory without parts nothing is near."""
    asked = np.array([EAST, NORTH], np.float32)
    memories = [stored(np.array([EAST], np.float32)), b"", stored(np.array([NORTH, EAST], np.float32))]
    assert closest(asked, memories) == pytest.approx(np.array([[1, 0], [0, 0], [1, 1]]), abs=0.01)


def test_what_is_kept_of_a_part_is_as_close_as_the_part_itself() -> None:
    """A byte a number loses less than a hundredth."""
    chance = np.random.default_rng(3)
    rows = chance.normal(size=(20, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert closest(rows, [stored(rows[:5])])[0] == pytest.approx((rows @ rows[:5].T).max(axis=1).clip(0), abs=0.02)


def test_a_part_that_means_nothing_is_not_kept() -> None:
    """A row of zeros is near nothing."""
    assert stored(np.zeros((3, 4), np.float32)) == b""


def test_what_every_memory_answers_to_tells_little() -> None:
    """The memory that answers to the rare word is ahead of those that answer to the common one."""
    answers = np.zeros((60, 2), np.float32)
    answers[:, 0] = 1.0
    answers[0] = (0.0, 1.0)
    found = covered(answers, np.ones(2, np.float32))
    assert found[0] > 2 * found[1]


@given(shares)
def test_it_is_a_share(answers: Floats) -> None:
    """From nothing to all of it; who answers to everything covers everything."""
    found = covered(
        np.vstack([answers, np.ones((1, answers.shape[1]), np.float32)]), np.ones(answers.shape[1], np.float32)
    )
    assert np.all((found >= 0) & (found <= 1 + 1e-5))
    assert found[-1] == pytest.approx(1.0, abs=1e-5)
