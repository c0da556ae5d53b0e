"""Breaker: stop waiting for a store that does not answer, and notice when it is back. Pure; time is an argument."""

from __future__ import annotations

from haru.receipt import BreakerState

PROBE_AFTER_S = (1.0, 2.0, 4.0)
"""Pauses before the probes of a store that is down; the last one repeats. A return is noticed within 5 s."""


class Breaker:
    """Closed: searches are waited for. Open: nothing is sent but a probe now and then."""

    def __init__(self, opens_after: int = 3) -> None:
        self.opens_after = opens_after
        """Failures in a row that open it."""
        self._failures = 0
        self._probes = 0
        self._probe_at: float | None = None

    @property
    def state(self) -> BreakerState:
        """``half-open`` while a probe is due or under way."""
        if self._failures < self.opens_after:
            return "closed"
        return "open" if self._probe_at is not None else "half-open"

    @property
    def closed(self) -> bool:
        """Whether searches may be sent and waited for."""
        return self._failures < self.opens_after

    @property
    def probe_at(self) -> float | None:
        """When the next probe is due, on the clock that `failed` was given; ``None`` while none is."""
        return self._probe_at

    def probing(self) -> None:
        """A probe has begun."""
        self._probe_at = None

    def succeeded(self) -> None:
        """The store answered in time."""
        self._failures = 0
        self._probes = 0
        self._probe_at = None

    def failed(self, now: float) -> None:
        """The store was late or refused to work."""
        self._failures += 1
        if not self.closed:
            self._probe_at = now + PROBE_AFTER_S[min(self._probes, len(PROBE_AFTER_S) - 1)]
            self._probes += 1
