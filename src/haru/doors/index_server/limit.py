"""Limit: how many searches an organisation may make in a minute. Pure; time is an argument."""

from __future__ import annotations

import math
from collections import deque

_MINUTE_S = 60.0


class Limit:
    """Counts the searches of the last minute.

    Args:
        most: in a minute; 0 for any number.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._at: dict[str, deque[float]] = {}

    def wait_s(self, organization: str, now_s: float) -> int:
        """Whole seconds to wait before a search may be made; 0 where it may be made now, and it is counted."""
        if not self._most:
            return 0
        at = self._at.setdefault(organization, deque())
        while at and at[0] <= now_s - _MINUTE_S:
            at.popleft()
        if len(at) < self._most:
            at.append(now_s)
            return 0
        return max(1, math.ceil(at[0] + _MINUTE_S - now_s))
