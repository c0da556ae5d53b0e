from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from haru.memory import Memory, SearchRef
from haru.recall.merge import Found, merge, outcome

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
ids = st.lists(st.integers(0, 30), max_size=40)


def found(number: int, source: str) -> Found:
    memory = Memory(id=f"mem-{number}", text=f"Number {number}.", created_at=NOON, updated_at=NOON)
    return Found(memory, source, 1.0, number, SearchRef())  # type: ignore[arg-type]


@given(ids, ids, st.integers(0, 12))
def test_merging_repeats_nothing_and_keeps_to_the_size(first: list[int], then: list[int], size: int) -> None:
    """Whatever comes in, no memory comes out twice, nor more than asked for, and search hits stand first."""
    merged = merge([found(n, "search") for n in first], [found(n, "cache") for n in then], size)
    numbers = [each.position for each in merged]
    assert len(numbers) == len(set(numbers)) <= size
    expected = list(dict.fromkeys(first))[:size]
    assert numbers[: len(expected)] == expected
    assert set(numbers) <= {*first, *then}


def test_the_outcome_names_the_best_source() -> None:
    """A turn is called by the freshest source it drew from."""
    assert outcome([]) == "none"
    assert outcome([found(1, "cache")]) == "cache"
    assert outcome([found(1, "cache"), found(2, "late")]) == "late+cache"
    assert outcome([found(1, "speculative"), found(2, "cache")]) == "speculative"
    assert outcome([found(1, "search"), found(2, "late")]) == "search"
