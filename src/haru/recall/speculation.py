"""Speculation: when to search on words that are still being spoken. One utterance at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from haru.recall import heard
from haru.recall.desk import RecallSettings
from haru.recall.heard import Said

PAUSE_S = 0.35
"""A partial text that stands so long is stable: the person pauses. Recognisers send one every 0.3 s or less."""
WIDER = 1.5
"""Each least time between two searches is so much longer than the one before: a long utterance costs few."""


class Speculation:
    """Listens to partial text and begins searches on what is stable of it.

    Args:
        settings: how often, and how many.
        begin: begins a search; false where none may be begun now.
    """

    def __init__(self, settings: RecallSettings, begin: Callable[[Said], bool]) -> None:
        self._settings = settings
        self._begin = begin
        self._timer: asyncio.TimerHandle | None = None
        self._partial = ""
        self._searched: list[frozenset[str]] = []
        self._due = float("-inf")

    def hear(self, partial_text: str) -> None:
        """Words so far. Never raises, never waits."""
        loop = asyncio.get_running_loop()
        before, self._partial = self._partial, partial_text
        self._stop_timer()
        settled = heard.said(heard.stable(before, partial_text))
        worth, early = self._worth(settled), loop.time() < self._due
        if partial_text != before:
            self._timer = loop.call_later(PAUSE_S, self.hear, partial_text)
        elif worth and early:
            self._timer = loop.call_at(self._due, self.hear, partial_text)
        if worth and not early and self._begin(settled):
            self._due = loop.time() + self._settings.debounce_s * WIDER ** len(self._searched)
            self._searched.append(settled.terms)

    def end(self) -> None:
        """The utterance is over."""
        self._stop_timer()
        self._partial = ""
        self._searched = []
        self._due = float("-inf")

    def _worth(self, settled: Said) -> bool:
        """Whether these words tell a search something new; a single one only if no other has begun to follow."""
        if len(self._searched) >= self._settings.speculations or settled.terms in self._searched:
            return False
        if self._searched:
            return bool(settled.terms - self._searched[-1])
        alone = heard.said(self._partial).terms <= settled.terms
        return len(settled.terms) > 1 or (alone and bool(settled.terms))

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None
