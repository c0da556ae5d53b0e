"""Polarity: whether two sentences say the same, or the opposite. Pure.

A duplicate check that drops "not" as a stop word takes a correction for a copy of what it corrects. So a sentence is
split in two: the words that say what it is about, and whether it says yes or no to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from haru import words
from haru.writer import dates

Similar = Callable[[str, str], float]
"""Cosine of two sentences, -1 to 1."""

ALIKE = 0.75
"""Least cosine of what two sentences are about, their numbers apart, to be the same fact in other words."""

_IDIOMS = (
    (re.compile(r"\b(?:can not|can['’]?t|cannot|could not|couldn['’]?t) stand\b", re.IGNORECASE), "dislikes"),
    (re.compile(r"\bno longer\b|\bnot? any ?more\b", re.IGNORECASE), "not"),
    (re.compile(r"\bany ?more\b", re.IGNORECASE), ""),
    (re.compile(r"\b(?:turned|switched|is) off\b", re.IGNORECASE), "disabled"),
    (re.compile(r"\b(?:turned|switched|is) on\b(?! \w+day\b)", re.IGNORECASE), "enabled"),
)
_NO = re.compile(r"\b(?:not|never|no|none|nothing|without)\b|n['’]t\b", re.IGNORECASE)
_DENIALS = {
    code: frozenset(words.fold(listed).split())
    for code, listed in {
        "de": "nicht kein keine keinem keinen keiner nie niemals nichts ohne",
        "fr": "pas jamais rien aucun aucune sans",
        "es": "no nunca jamás nada nadie ningún ninguna sin",
        "it": "non mai niente nessun nessuno nessuna senza",
        "pt": "não nunca nada ninguém nenhum nenhuma sem",
        "nl": "niet geen nooit niets niemand zonder",
    }.items()
}
"""Where these are said, a sentence denies, however many of them: "no come nunca carne"."""
_WORD = re.compile(r"\w+")
_YES_WORDS = frozenset(
    map(words.term, ["like", "love", "enjoy", "prefer", "adore", "enabled", "allowed", "open", "active", "able"])
)
_NO_WORDS = frozenset(
    map(words.term, ["dislike", "hate", "detest", "loathe", "disabled", "forbidden", "closed", "inactive", "unable"])
)
KIN = {
    words.term(word): group
    for group, alike in {
        "spouse": "wife husband spouse partner",
        "mother": "mother mom mum mama",
        "father": "father dad daddy papa",
        "child": "child kid",
        "son": "son",
        "daughter": "daughter",
        "sister": "sister",
        "brother": "brother",
        "grandmother": "grandmother grandma granny",
        "grandfather": "grandfather grandpa",
    }.items()
    for word in alike.split()
}
"""The relation that each word for one stands for."""


def meaning(text: str) -> tuple[frozenset[str], bool]:
    """What a sentence is about, and whether it affirms it."""
    plain = dates.undated(text)
    for idiom, said_plainly in _IDIOMS:
        plain = idiom.sub(said_plainly, plain)
    found = set(words.terms(plain))
    denials = _DENIALS.get(words.language(plain).code)
    denied = len(_NO.findall(plain)) if denials is None else not denials.isdisjoint(_WORD.findall(words.fold(plain)))
    negations = denied + len(found & _NO_WORDS)
    return frozenset(found - _YES_WORDS - _NO_WORDS), negations % 2 == 0


def same(one: str, other: str, similar: Similar | None = None) -> bool:
    """Whether two sentences say the same; in other words too, where a measure of similarity is given."""
    about, affirms = meaning(one)
    about_other, affirms_other = meaning(other)
    if affirms != affirms_other or not about or not about_other:
        return False
    if about == about_other:
        return True
    numbers = _numbers(about)
    # Vectors can't tell a wife from a mother, nor June 3 from June 5: other words are only looked through where the
    # numbers, the names and the relations are the same, and there are numbers to hold on to.
    if similar is None or not numbers or numbers != _numbers(about_other):
        return False
    if _names(one) != _names(other) or _kin(about) != _kin(about_other):
        return False
    return similar(_readable(one), _readable(other)) >= ALIKE


def contradicts(one: str, other: str) -> bool:
    """Whether two sentences are about the same, and one denies what the other affirms."""
    about, affirms = meaning(one)
    about_other, affirms_other = meaning(other)
    return bool(about) and about == about_other and affirms != affirms_other


def _readable(text: str) -> str:
    """The content words without numbers, unstemmed: what an embedder knows."""
    return " ".join(word for word in words.content(text) if not any(sign.isdigit() for sign in word))


def _numbers(about: frozenset[str]) -> frozenset[str]:
    return frozenset(each for each in about if any(sign.isdigit() for sign in each))


def _kin(about: frozenset[str]) -> list[str]:
    return sorted({KIN[each] for each in about if each in KIN})


def _names(text: str) -> frozenset[str]:
    return frozenset(words.term(words.fold(name)) for name in words.names(text))
