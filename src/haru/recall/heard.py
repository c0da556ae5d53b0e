"""Heard: which partial text is worth a search, and whether a search on part of the words is enough. Pure.

A recogniser's newest word is often another one a moment later, so a search runs on the words before it, or on all of
them once the text stays the same. Searches grow apart as an utterance grows: after two content words, three, four,
six, nine.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

ENOUGH_WORDS = 3
"""Content words of a question of which some tell enough."""
PAUSE_S = 0.5
"""Without a new text for so long, the person pauses: longer than a recogniser takes from one to the next."""
_FIRST_WORDS = 2


def settled(partial_text: str, before: str) -> str:
    """The words of a partial text that will probably stay: all but the newest, or all where nothing changed.

    Args:
        partial_text: the words so far.
        before: the partial text before it.
    """
    return partial_text if partial_text == before else partial_text.rpartition(" ")[0]


def worth_searching(heard: AbstractSet[str], searched: AbstractSet[str]) -> bool:
    """Whether content words have gained enough since those last searched."""
    return len(heard - searched) >= (len(searched) // 2 or _FIRST_WORDS)


def foreseen(heard: AbstractSet[str], searched: AbstractSet[str]) -> bool:
    """Whether a search told enough: it ran on two thirds of the content words, and on no more than one other."""
    return (
        len(heard) >= ENOUGH_WORDS and len(heard - searched) <= max(1, len(heard) // 3) and len(searched - heard) <= 1
    )
