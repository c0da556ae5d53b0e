"""Learning: which real questions a memory has answered, so that the next one in such words finds it. Pure.

A learned word counts less than one that the memory holds, and only the newest questions are kept: a wrong judgment
moves little, and is pushed out by later ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from haru import words

MOST_QUERIES = 5
MOST_WORDS = 12
"""A longer question is about more than one thing."""


def learned(known: Iterable[str], asked: Iterable[str]) -> tuple[str, ...]:
    """The questions that a memory is known to answer, oldest first, after it answered some more.

    Args:
        known: those known before, oldest first.
        asked: questions that it answered now, as said or as content words.
    """
    fresh = [" ".join(content) for text in asked if 0 < len(content := words.content(text)) <= MOST_WORDS]
    newest_last = dict.fromkeys(reversed([*known, *fresh]))
    return tuple(reversed(list(newest_last)[:MOST_QUERIES]))
