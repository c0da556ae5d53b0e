from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haru import words


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("I'm feeling peckish, any snack ideas for me?", ["feeling", "peckish", "snack", "ideas"]),
        ("hey Haru, um, could you tell me what my dog is called again please", ["dog"]),
        ("so, like, when was it, the birthday thing, my wife's I mean", ["birthday", "wife"]),
        ("What's the weather? Don't know.", ["weather"]),
        ("thank you so much, good night", []),
        ("what's good in the evening", ["evening"]),
        ("", []),
    ],
)
def test_what_is_left_when_filler_is_dropped(said: str, left: list[str]) -> None:
    """The words that a search can use, in the order they were said."""
    assert words.content(said) == left


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "CAFE"), ("ｃａｆé", "cafe"), ("Ñandú", "nandu"), ("Œdipe", "oedipe"), ("Straße", "STRASSE"),
        ("ОМСК", "омск"), ("Malmö", "malmo"),
    ],
)  # fmt: skip
def test_what_looks_alike_compares_alike(one: str, other: str) -> None:
    """Case, accents, width and ligatures."""
    assert words.fold(one) == words.fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("three", "3"), ("third", "3rd"), ("first", "1"), ("walks", "walking"), ("Tuesdays", "tuesday"), ("twenty", "20")],
)
def test_forms_of_one_word_are_one_term(one: str, other: str) -> None:
    """Number words are numbers, and English words are stemmed."""
    assert words.terms(one) == words.terms(other)


@pytest.mark.parametrize(
    ("heard", "written"),
    [("bisket", "biscuit"), ("kaitlyn", "caitlin"), ("erick", "eric"), ("kathryn", "catherine"), ("parry", "perry")],
)
def test_names_that_sound_alike_have_one_key(heard: str, written: str) -> None:
    """A recogniser spells them differently each time."""
    assert words.sound(heard) == words.sound(written) != ""


def test_only_names_are_found_by_their_sound() -> None:
    """A basket is no Biscuit; a sentence's first word is capitalised anyway; possessives are cut off."""
    assert words.names("The user's niece Caitlin's dog is called Biscuit, not basket.") == ["Caitlin", "Biscuit"]
    assert words.names("Baskets are in the hall.") == []


def test_scripts_without_spaces_become_pairs() -> None:
    """The whole run would only find itself."""
    assert [term for term, _ in words.query_terms("緑茶")] == ["緑茶"]
    assert {"緑茶", "茶", "毎朝"} <= set(words.terms("利用者は毎朝緑茶を飲む。"))


@given(st.text(max_size=200))
def test_any_text_has_words(text: str) -> None:
    """Nothing raises; terms are never empty nor repeated in a question; and what is left stays when filtered again."""
    found = words.query_terms(text)
    assert all(term for term, _ in found)
    assert len(found) == len(dict(found))
    left = words.content(text)
    assert words.content(" ".join(left)) == left
    words.terms(text)
    words.names(text)


def test_a_podcast_costs_little() -> None:
    """Only the beginning of an endless text is looked at."""
    began = time.perf_counter()
    words.query_terms("and then the dog ran over the hill " * 30_000)
    assert time.perf_counter() - began < 1.0
