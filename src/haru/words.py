"""Words: from text, spoken or written, to the terms that search compares. Pure.

Speech is mostly filler, so what carries no meaning is dropped: stop words, politeness, the wake name, small talk.
What is left is folded (case, accents, width), number words become digits, and English words are stemmed
(Snowball, M. Porter). Scripts without spaces become pairs of neighbouring characters. Names also get a key of
their sound (Metaphone, L. Philips), for recognisers spell them differently each time.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache

import jellyfish
import Stemmer

_STOP = frozenset(
    """
    a about above after again against all also am an and any anything anyone are as at be because been before being
    below between both but by ca can could did do does doing done down during each either else ever every few for from
    further get gets getting go goes going gonna got had has have having he her here hers herself him himself his how i
    if in into is it its itself just kind know let lot made make makes many maybe me might mine more most much must my
    myself nor not now of off on once only onto or other others our ours ourselves out over own rather same sha shall
    she should since so some someone something such than that the their theirs them themselves then there these they
    thing things this those through to too toward towards under until up upon us very wanna want wants was we were what
    whatever when where which while who whom whose why will with without wo would you your yours yourself yourselves
    user users household called named
    s t m d l re ve ll
    er erm hm hmm huh mm mhm oh uh uhm um well yeah yep yes no nope nah ok okay alright sure right really actually
    basically literally stuff guess anyway
    hey hi hello haru please thanks thank thx sorry pardon bye goodbye welcome cheers
    tell say says said remember remind recall
    stop cancel quiet pause continue enough good never
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)

_SMALL_TALK = re.compile(
    r"\b(?:good (?:night|morning|evening|afternoon|day)|never ?mind|see you(?: later| soon| tomorrow)?"
    r"|how are you(?: doing)?|what s up|shut up|be quiet|excuse me|no problem|no worries|i mean|you know what"
    r"|of course|all right|(?:so|um|uh|was|and) like|like i said|forget it)\b"
)

_NUMBERS = {
    word: str(value)
    for value, words in enumerate(
        (
            "zero", "one first", "two second twice", "three third", "four fourth", "five fifth", "six sixth",
            "seven seventh", "eight eighth", "nine ninth", "ten tenth", "eleven eleventh", "twelve twelfth",
            "thirteen thirteenth", "fourteen fourteenth", "fifteen fifteenth", "sixteen sixteenth",
            "seventeen seventeenth", "eighteen eighteenth", "nineteen nineteenth", "twenty twentieth",
        )
    )
    for word in words.split()
} | {
    word: str(value * 10)
    for value, words in enumerate(
        ("thirty thirtieth", "forty fortieth", "fifty fiftieth", "sixty", "seventy", "eighty", "ninety"), start=3
    )
    for word in words.split()
}  # fmt: skip

_LETTERS = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
_MARKS = re.compile(r"[\u0300-\u036f]")
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_])+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_NOT = re.compile(r"n['’]t\b")
_ORDINAL = re.compile(r"^(\d+)(?:st|nd|rd|th)$")
_NAME = re.compile(r"(?:(?<=[^\s.!?:;\"“(] )|(?<=['’(-]))[^\W\d_a-z][^\W\d_]{2,}")
_MAX_CHARS = 20_000
"""A longer text is cut before it is looked at: a podcast left running must not cost the deadline."""
_MAX_WORD_CHARS = 40
"""A longer "word" is base64 or noise and matches nothing."""


class _Stemmers(threading.local):
    """One stemmer a thread: it keeps state."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english")


_local = _Stemmers()


def fold(text: str) -> str:
    """Lower case without accents, width or ligatures: what looks alike compares alike."""
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", _MARKS.sub("", plain)).translate(_LETTERS)


def content(text: str) -> list[str]:
    """Content words in the order said, folded but readable: what is sent to a search that does not know speech."""
    folded = _NOT.sub(" not", fold(text[:_MAX_CHARS]))
    spoken = " ".join(_TOKEN.findall(folded))
    return [word for word in _SMALL_TALK.sub(" ", spoken).split() if word not in _STOP and len(word) <= _MAX_WORD_CHARS]


def term(word: str) -> str:
    """The form of one folded word that the index holds."""
    if word in _NUMBERS:
        return _NUMBERS[word]
    if ordinal := _ORDINAL.match(word):
        return ordinal.group(1)
    return _stem(word)


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    return _local.english.stemWord(word)


def query_terms(text: str) -> list[tuple[str, str]]:
    """Each different content term of a question with the key of its sound ("" where it has none)."""
    found: dict[str, str] = {}
    for word in content(text):
        for piece in _pieces(word, whole=False):
            found.setdefault(term(piece), sound(piece))
    return list(found.items())


def terms(text: str) -> list[str]:
    """The terms of a sentence to be found, with repetitions."""
    return [term(piece) for word in content(text) for piece in _pieces(word, whole=True)]


def _pieces(word: str, *, whole: bool) -> list[str]:
    """A word as it is; a run of an unspaced script as pairs of neighbours, with ``whole`` its characters too."""
    if not _IS_UNSPACED.match(word):
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
    return [found for found in _NAME.findall(text[:_MAX_CHARS]) if fold(found) not in _STOP]


def name_sounds(text: str) -> list[str]:
    """Sound keys of the names in a sentence."""
    return [key for name in names(text) if (key := sound(fold(name)))]


def asked(text: str) -> str:
    """The words as said (stand-in until languages land)."""
    return text if content(text) else ""
