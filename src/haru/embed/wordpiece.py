"""WordPiece: text to the numbers of BERT's uncased vocabulary, which MiniLM and the static table share.

The rules are those of BERT's uncased tokeniser: control characters go, accents go, upper case goes, every
punctuation mark and every Chinese character is a word, and a word is cut greedily into the longest known pieces.
The vocabulary is from all-MiniLM-L6-v2 (Apache-2.0), one piece a line, its number the line's.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

VOCABULARY = Path(__file__).with_name("vocab.txt")

_CONTINUED = "##"
_MAX_WORD_CHARS = 100
"""BERT's own limit: a longer word is unknown."""
_MAX_CHARS = 20_000
"""A longer text is cut before it is looked at; what embeds it reads far less."""
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs"})
_NOT_SPACES = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
"""Spaces to Python, control characters to BERT."""
_ASCII_MARKS = frozenset("$+<=>^`|~")
"""Symbols to Unicode, punctuation to BERT."""
_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """A vocabulary, ready to cut words. Safe for several threads.

    Raises:
        KeyError: the vocabulary lacks one of ``[UNK]``, ``[CLS]``, ``[SEP]``.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self.unknown = self._numbers["[UNK]"]
        self.start = self._numbers["[CLS]"]
        self.end = self._numbers["[SEP]"]

    def __len__(self) -> int:
        """Number of pieces."""
        return len(self._numbers)

    def cut(self, word: str) -> list[int]:
        """The pieces of one word of `words`; ``[unknown]`` where it cannot be cut into known ones."""
        if len(word) > _MAX_WORD_CHARS:
            return [self.unknown]
        pieces: list[int] = []
        at = 0
        while at < len(word):
            number, at = self._longest(word, at)
            if number is None:
                return [self.unknown]
            pieces.append(number)
        return pieces

    def encode(self, text: str, limit: int) -> tuple[list[int], list[str]]:
        """A text as a model reads it, at most ``limit`` numbers: start, the pieces that fit, end.

        With them comes the word that each piece belongs to.
        """
        pieces: list[int] = []
        owners: list[str] = []
        for word in words(text):
            cut = self.cut(word)
            pieces.extend(cut)
            owners.extend([word] * len(cut))
            if len(pieces) >= limit - 2:
                break
        return [self.start, *pieces[: limit - 2], self.end], owners[: limit - 2]

    def _longest(self, word: str, at: int) -> tuple[int | None, int]:
        """Number of the longest known piece that begins there, and where it ends."""
        prefix = _CONTINUED if at else ""
        for end in range(len(word), at, -1):
            number = self._numbers.get(prefix + word[at:end])
            if number is not None:
                return number, end
        return None, at


@cache
def shipped() -> WordPiece:
    """The vocabulary that comes with Haru, read at the first call."""
    return read(VOCABULARY)


def read(path: Path) -> WordPiece:
    """A vocabulary from a file, one piece a line.

    Raises:
        OSError: the file cannot be read.
        KeyError: it is not a BERT vocabulary.
    """
    return WordPiece(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))


def words(text: str) -> list[str]:
    """Words and single punctuation marks, lower case and without accents."""
    cleaned = "".join(map(_cleaned, text[:_MAX_CHARS]))
    return "".join(map(_set_apart, unicodedata.normalize("NFD", cleaned))).lower().split()


@lru_cache(maxsize=4096)
def _cleaned(char: str) -> str:
    """The character, a space for any kind of space, or nothing for what no one sees."""
    if char.isspace() and char not in _NOT_SPACES:
        return " "
    if char == "\ufffd" or unicodedata.category(char) in _UNSEEN:
        return ""
    return f" {char} " if any(first <= ord(char) <= last for first, last in _CHINESE) else char


@lru_cache(maxsize=4096)
def _set_apart(char: str) -> str:
    """The character, nothing for an accent, or spaces around punctuation."""
    category = unicodedata.category(char)
    if category == "Mn":
        return ""
    return f" {char} " if category.startswith("P") or char in _ASCII_MARKS else char
