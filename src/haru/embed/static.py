"""StaticEmbedder: meaning from a table of word pieces, in well under a tenth of a millisecond a question.

The table was made from MiniLM by ``scripts/distil_static.py``: one row of 64 small whole numbers a word piece. A
text is the sum of the rows of its content words, brought to unit length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from zipfile import BadZipFile

import numpy as np

from haru import words
from haru.embed import wordpiece
from haru.embed.unit import unit
from haru.errors import IndexRefused
from haru.ports import Reading
from haru.yielding import yielding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haru.ports import Vectors

TABLE = Path(__file__).with_name("static.npz")
IDENTITY = "static-minilm-64-1"
DIM = 64

_MOST_PIECES = 2
"""A word broken into more is a name or garble: the pieces say nothing about it."""
_CACHED_WORDS = 8192


class StaticEmbedder:
    """The embedder that is always there. The table is read at the first use; safe for several threads.

    Raises:
        IndexRefused: when first used, the table is damaged or of another version.
    """

    id = IDENTITY
    dim = DIM

    def __init__(self, table: Path = TABLE) -> None:
        self._path = table
        self._word = lru_cache(maxsize=_CACHED_WORDS)(self._sum)
        self._nothing: Vectors = np.zeros(DIM, np.float32)

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """One row a text, shape (n, 64); zeros where no content word is known."""
        rows = [each.vector for each in self.read(texts, kind)]
        return np.stack(rows) if rows else np.zeros((0, DIM), np.float32)

    def read(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[Reading]:  # noqa: ARG002 - both are alike to a table
        """Vectors of the texts and of their content words, each word once."""
        return [self._read(words.content(text)) for text in yielding(texts)]

    def _read(self, spoken: list[str]) -> Reading:
        counts = Counter(spoken)
        rows = np.stack([self._word(word) for word in counts] or [self._nothing])
        whole = np.array([*counts.values()] or [0], np.float32) @ rows
        return Reading(unit(whole[np.newaxis])[0], unit(rows[: len(counts)]), tuple(counts))

    def _sum(self, word: str) -> Vectors:
        """Sum of the rows of a word's pieces."""
        vocabulary = wordpiece.shipped()
        known: list[int] = []
        for part in wordpiece.words(word):
            pieces = vocabulary.cut(part)
            if len(pieces) <= _MOST_PIECES and vocabulary.unknown not in pieces:
                known.extend(pieces)
        return self._rows[known].sum(axis=0, dtype=np.float32) if known else self._nothing

    @cached_property
    def _rows(self) -> NDArray[np.int8]:
        try:
            with self._path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                identity, rows = str(file["identity"]), file["rows"]
        except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
            raise IndexRefused(f"The word table {self._path} cannot be read. Install Haru again.") from error
        if identity != IDENTITY or rows.dtype != np.int8 or rows.ndim != 2 or rows.shape[1] != DIM:
            raise IndexRefused(f"The word table {self._path} is not {IDENTITY}. Install Haru again.")
        return rows
