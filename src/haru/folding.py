"""Folding: one spelling for what looks alike. Pure."""

from __future__ import annotations

import re
import unicodedata

_LETTERS = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
_MARKS = re.compile(r"[\u0300-\u036f\u200c\u200d]")
"""Accents, and the joiners that only tell how letters are drawn."""


def fold(text: str) -> str:
    """Lower case without accents, width or ligatures: what looks alike compares alike."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", _MARKS.sub("", plain)).translate(_LETTERS)
