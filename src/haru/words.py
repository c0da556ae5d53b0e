"""Words: from text, spoken or written, to the terms that search compares. Pure.

Speech is mostly filler, so what carries no meaning in its language is dropped: stop words, politeness, the wake name,
small talk. What is left is folded (case, accents, width), number words become digits, and words are stemmed (Snowball,
M. Porter). Scripts without spaces become pairs of neighbouring characters. Names also get a key of their sound
(Metaphone, L. Philips), for recognisers spell them differently each time.
"""

from __future__ import annotations

import re
import threading
from functools import cache, lru_cache

import jellyfish
import Stemmer

from haru.folding import fold
from haru.languages import ENGLISH, UNKNOWN, Language, detect, polite

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
)
_MARKS = r"\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0f71-\u0f84"
"""Accents and points, and the scripts of India, where vowels are marks: they belong to the letter before them."""
_TOKEN = rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}](?:[^\W_{_UNSPACED}]|[{_MARKS}])*"
_ASCII_TOKEN = re.compile(r"[^\W_]+")
_NOT = re.compile(r"n['’]t\b")
_ORDINAL = re.compile(r"^(\d+)(?:st|nd|rd|th|er|ere|eme)$")
_NAME = re.compile(r"(?:(?<=[^\s.!?:;\"“(] )|(?<=['’(-]))[^\W\d_a-z][^\W\d_]{2,}")
_MAX_CHARS = 20_000
"""A longer text is cut before it is looked at: a podcast left running must not cost the deadline."""
_MAX_WORD_CHARS = 40
"""A longer "word" is base64 or noise and matches nothing."""


class _Stemmers(threading.local):
    """One stemmer a thread and language: it keeps state."""

    def __init__(self) -> None:
        self.made: dict[str, Stemmer.Stemmer] = {}


_local = _Stemmers()
_pattern = cache(re.compile)  # when first needed: those of all languages take long to make


def _token(text: str) -> re.Pattern[str]:
    return _ASCII_TOKEN if text.isascii() else _pattern(_TOKEN)


def content(text: str) -> list[str]:
    """Content words in the order said, folded but readable: what is sent to a search that does not know speech."""
    return list(_heard(text)[1])


def _heard(text: str) -> tuple[tuple[str, ...], tuple[str, ...], Language]:
    """All words, the content words among them, and the language they are in."""
    return _analysed(text[:_MAX_CHARS].rstrip(" .!?"))  # a question is read with its mark, and without


@lru_cache(maxsize=256)  # one question is looked at from five sides
def _analysed(text: str) -> tuple[tuple[str, ...], tuple[str, ...], Language]:
    folded = _NOT.sub(" not", fold(text))
    found = _token(folded).findall(folded)
    known = detect(found) or UNKNOWN
    left = _kept(found, known)
    # Who looks at what is left sees no other words around it, and must not find more to drop.
    while (again := _kept(left, detect(left) or UNKNOWN)) != left:
        left = again
    return tuple(found), tuple(left), known


def _kept(spoken: list[str], known: Language) -> list[str]:
    line = " ".join(spoken)
    if known is UNKNOWN and polite(line):
        return []
    left = _pattern(known.small_talk).sub(" ", line).split()
    return [word for word in left if word not in known.stop and len(word) <= _MAX_WORD_CHARS]


def language(text: str) -> Language:
    """The language of a text; `haru.languages.UNKNOWN` where it shows none."""
    return _heard(text)[2]


def asked(text: str) -> str:
    """The words as said but for filler, politeness and what leads in; "" where no content word is left.

    What is sent to a search that understands speech: function words, case and order tell it how things relate.
    """
    return _asked(text[:_MAX_CHARS])


@lru_cache(maxsize=256)  # by the session, by the index, and before it is read
def _asked(said: str) -> str:
    _, left, known = _heard(said)
    if not left:
        return ""
    tokens = _token(said)
    kept = [("".join(fold(token[0]).split()), token) for token in tokens.finditer(said)]
    for pattern in (known.opening, known.filler, known.opening):
        spoken = " ".join(word for word, _ in kept)
        # The spaces of what is cut stay, so that what is left is still in step with the words as said.
        cut = _pattern(pattern).sub(lambda found: " " * found[0].count(" "), spoken).split(" ")
        kept = [(word, token) for word, (_, token) in zip(cut, kept, strict=False) if word]
    shown, end = "", 0
    for word, token in kept:
        between = said[end : token.start()] if shown else ""
        shown += (" " if tokens.search(between) else between) + (token[0] if word == fold(token[0]) else word)
        end = token.end()
    return shown or said.strip()


@lru_cache(maxsize=65536)
def term(word: str, known: Language = ENGLISH) -> str:
    """The form of one folded word that the index holds."""
    if word in known.numbers:
        return known.numbers[word]
    if ordinal := _ORDINAL.match(word):
        return ordinal.group(1)
    name = known.stemmer or ENGLISH.stemmer
    made = _local.made.get(name)
    if made is None:
        made = _local.made[name] = Stemmer.Stemmer(name)
    return made.stemWord(word)


def query_terms(text: str) -> tuple[tuple[str, str], ...]:
    """Each different content term of a question with the key of its sound ("" where it has none)."""
    return _query_terms(text[:_MAX_CHARS])


@lru_cache(maxsize=256)
def _query_terms(text: str) -> tuple[tuple[str, str], ...]:
    spoken, left, known = _heard(text)
    if known.signs.isdisjoint(spoken):
        known = ENGLISH  # names hold such words too ("Las Vegas"), and every memory has the English form
    found: dict[str, str] = {}
    for word in left:
        for piece in _pieces(word, whole=False):
            found.setdefault(term(piece, known), sound(piece))
    return tuple(found.items())


def terms(text: str) -> list[str]:
    """The terms of a sentence to be found, with repetitions.

    Each word stands in the form of its language and, where that is another one, in the English form too: a question
    of a word or two shows no language.
    """
    _, left, known = _heard(text)
    pieces = [piece for word in left for piece in _pieces(word, whole=True)]
    if known.stemmer == ENGLISH.stemmer:
        return [term(piece) for piece in pieces]
    return [form for piece in pieces for form in dict.fromkeys((term(piece, known), term(piece)))]


def _pieces(word: str, *, whole: bool) -> list[str]:
    """A word as it is; a run of an unspaced script as pairs of neighbours, with ``whole`` its characters too."""
    if word.isascii() or not _pattern(f"[{_UNSPACED}]").match(word):
        return [word]
    pairs = [word[i : i + 2] for i in range(len(word) - 1)]
    return [*pairs, *word] if whole or not pairs else pairs


def sound(word: str) -> str:
    """How a word sounds, as a Metaphone key; "" where it is too short to tell anything."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return ""
    key = jellyfish.metaphone(word)
    return key if len(key) >= 2 else ""


def names(text: str) -> list[str]:
    """Words written as names: a capital letter inside a sentence, possessives cut off."""
    return [found for found in _NAME.findall(text[:_MAX_CHARS]) if fold(found) not in ENGLISH.stop]


def name_sounds(text: str) -> list[str]:
    """Sound keys of the names in a sentence."""
    return [key for name in names(text) if (key := sound(fold(name)))]
