"""Language: how one language is recognised, and which of its words carry no meaning. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from haru.folding import fold

HESITATION = frozenset(fold("um uhm uh hm hmm mm mhm äh ähm eh ehm euh oh haru").split())
"""Filler in whatever language, and the wake name."""

LETTERS = frozenset("adilmst")
"""What short forms leave ("I'm", "l'auto"): no words in whatever language."""
NEVER = r"(?!)"
"""The pattern of nothing."""

_VALUES = (*range(21), *range(30, 100, 10))


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """The commonest words of a language, folded. Patterns see folded words with one space between them."""

    code: str
    """ISO 639-1."""
    stemmer: str
    """Snowball's name for it; "" where words are not stemmed."""
    signs: frozenset[str]
    """Function words of no other meaning in a language that is known here: one of them can tell the language."""
    hints: frozenset[str]
    """Function words that several languages have, or names hold ("la", "de"): only together they tell it."""
    stop: frozenset[str]
    """Words that carry no meaning: function words, hesitation, politeness."""
    filler: str
    """Pattern of hesitation and politeness, which mean nothing wherever they stand."""
    small_talk: str
    """Pattern of what is said without meaning its words; in a script without spaces, of function words too."""
    opening: str
    """Pattern of what leads in a question."""
    numbers: Mapping[str, str]
    """Number words, with their digits."""


def spaced(
    code: str,
    stemmer: str,
    *,
    signs: str,
    hints: str,
    also: str,
    filler: str,
    small_talk: str,
    opening: str,
    numbers: str,
) -> Language:
    """A language that puts spaces between words, from its lists as people write them.

    Args:
        code: see `Language`.
        stemmer: see `Language`.
        signs: see `Language`.
        hints: see `Language`.
        also: words to drop that tell nothing: in English, or everywhere, they are words to keep ("die", "pour").
        filler: hesitation and politeness, with commas in between, as in the lists that follow.
        small_talk: phrases that mean nothing; parts of a pattern are allowed.
        opening: phrases that lead in a question; the same.
        numbers: the words for each number from 0 to 20, then for each of the tens.
    """
    politeness, phrases = {*_listed(filler), *HESITATION}, _listed(small_talk)
    words = {each for each in politeness if " " not in each}
    told, hinted, untold = (frozenset(fold(each).split()) for each in (signs, hints, also))
    return Language(
        code,
        stemmer,
        signs=(told | words) - hinted - untold - HESITATION,
        hints=hinted - HESITATION,
        stop=told | hinted | untold | words | LETTERS,
        filler=any_of(politeness),
        small_talk=any_of({*phrases, *politeness} - words),
        opening=rf"\A(?:{any_of({*phrases, *_listed(opening)})}\s?)+",
        numbers=_numbered(numbers),
    )


def unspaced(code: str, *, stop: str, filler: str, small_talk: str, numbers: str) -> Language:
    """A language without spaces, told by its script, from patterns of what is cut out of a run of it.

    Args:
        code: see `Language`.
        stop: what carries no meaning where it is left alone.
        filler: see `Language`.
        small_talk: see `Language`.
        numbers: the signs for each number from 0 on.
    """
    nothing = frozenset[str]()
    dropped = frozenset(stop.split()) | HESITATION | LETTERS
    return Language(code, "", nothing, nothing, dropped, filler, f"{filler}|{small_talk}", NEVER, _numbered(numbers))


def any_of(phrases: Iterable[str]) -> str:
    """The pattern of any of these, the longer ones first."""
    return rf"(?<!\S)(?:{'|'.join(sorted(phrases, key=lambda phrase: (-len(phrase), phrase)))})(?!\S)"


def _numbered(text: str) -> dict[str, str]:
    return {
        word: str(value) for value, words in zip(_VALUES, fold(text).split(","), strict=False) for word in words.split()
    }


def _listed(text: str) -> list[str]:
    return [" ".join(re.split(r"[\s'-]+", each.strip())) for each in fold(text).split(",")]
