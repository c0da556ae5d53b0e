from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from haru.recall.breaker import PROBE_AFTER_S, Breaker


def test_it_opens_after_three_failures_in_a_row() -> None:
    """Two misses are borne; the third ends the waiting."""
    breaker = Breaker()
    breaker.failed(0.0)
    breaker.failed(1.0)
    breaker.succeeded()
    breaker.failed(2.0)
    breaker.failed(3.0)
    assert breaker.closed
    breaker.failed(4.0)
    assert (breaker.state, breaker.probe_at) == ("open", 4.0 + PROBE_AFTER_S[0])


def test_one_answered_probe_closes_it() -> None:
    """A store that is back is used again at once."""
    breaker = Breaker(opens_after=1)
    breaker.failed(0.0)
    breaker.probing()
    assert breaker.state == "half-open"
    breaker.succeeded()
    assert (breaker.state, breaker.closed, breaker.probe_at) == ("closed", True, None)


@given(st.lists(st.floats(0.0, 0.25), min_size=1, max_size=50))
def test_a_return_is_noticed_within_five_seconds(probe_took_s: list[float]) -> None:
    """However long a store was down, and however long its probes hung, the next one is never more than 5 s away."""
    breaker = Breaker(opens_after=1)
    now = 0.0
    breaker.failed(now)
    for took_s in probe_took_s:
        assert breaker.probe_at is not None
        assert now < breaker.probe_at <= now + 5.0 - 0.25
        now = breaker.probe_at + took_s
        breaker.probing()
        breaker.failed(now)
