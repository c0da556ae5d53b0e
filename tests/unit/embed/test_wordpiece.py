"""WordPiece gives BERT's own numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haru.embed.wordpiece import read, shipped, words

# Made with the `tokenizers` library and the tokeniser file of all-MiniLM-L6-v2.
KNOWN = [
    ("What's my spouse's name?", [101, 2054, 1005, 1055, 2026, 18591, 1005, 1055, 2171, 1029, 102]),
    ("Crème brûlée, naïve CAFÉ", [101, 13675, 21382, 7987, 9307, 2063, 1010, 15743, 7668, 102]),
    ("hatchback", [101, 11300, 5963, 102]),
    (
        "The user's cousin Erik lives in Malmö.",
        [101, 1996, 5310, 1005, 1055, 5542, 10240, 3268, 1999, 23643, 1012, 102],
    ),
    ("毎朝緑茶を飲む", [101, 100, 1874, 100, 100, 1690, 100, 1679, 102]),
    ("Привет мир", [101, 1194, 16856, 10325, 25529, 15290, 22919, 1191, 10325, 16856, 102]),
    ("한국어", [101, 1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008, 102]),
    ("It costs $5.00 + tax (10%)", [101, 2009, 5366, 1002, 1019, 1012, 4002, 1009, 4171, 1006, 2184, 1003, 1007, 102]),
    ("12:30pm on 3 June 2026", [101, 2260, 1024, 2382, 9737, 2006, 1017, 2238, 16798, 2575, 102]),
    ("🐶 dog", [101, 100, 3899, 102]),
    ("x" * 101, [101, 100, 102]),
    ("zero\u200bwidth\tand\x00control", [101, 5717, 9148, 11927, 2232, 1998, 8663, 13181, 2140, 102]),
    ("İstanbul ﬁ", [101, 9960, 1984, 102]),
    ("Кафе́ 東京tower", [101, 1189, 10260, 29749, 15290, 1879, 1755, 3578, 102]),
    ("", [101, 102]),
]


@pytest.mark.parametrize(("text", "numbers"), KNOWN)
def test_the_numbers_are_those_of_the_reference(text: str, numbers: list[int]) -> None:
    """Case, accents, scripts, symbols, unseen characters and endless words come out as in the reference."""
    assert shipped().encode(text, 256)[0] == numbers


def test_a_long_text_is_cut_and_still_ends() -> None:
    """No more numbers than asked for, the end mark among them."""
    numbers, owners = shipped().encode("word " * 1000, 256)
    assert len(numbers) == 256
    assert owners == ["word"] * 254
    assert numbers[-1] == shipped().end


@given(st.text(st.characters()))
def test_every_text_has_pieces_for_every_word(text: str) -> None:
    """No text is an error, and no word is lost without a trace."""
    assert all(shipped().cut(word) for word in words(text))


@given(st.text())
def test_words_are_what_they_are_already(text: str) -> None:
    """Cutting words again changes nothing."""
    once = words(text)
    assert words(" ".join(once)) == once


def test_a_file_that_is_no_vocabulary_is_refused(tmp_path: Path) -> None:
    """A vocabulary needs BERT's marks."""
    path = tmp_path / "vocab.txt"
    path.write_text("dog\ncat\n")
    with pytest.raises(KeyError):
        read(path)
