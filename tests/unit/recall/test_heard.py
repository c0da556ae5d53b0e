"""How much of a partial text will stay, and when hits for some of the words will do for all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haru.memory import Memory
from haru.recall.heard import said, stable, will_do

spoken = st.lists(st.sampled_from(["my", "dog", "Dog", "dog,", "Biscuit", "is", "the", "a", "犬", "café"]), max_size=8)


@given(spoken, spoken)
def test_what_is_stable_begins_both(before: list[str], now: list[str]) -> None:
    """Only words at the start, only as long as both agree, and as they stand in the newer one."""
    found = stable(" ".join(before), " ".join(now)).split()
    assert found == now[: len(found)]
    assert said(" ".join(found)).terms == said(" ".join(before[: len(found)])).terms
    if len(found) < min(len(before), len(now)):
        assert before[len(found)] != now[len(found)]


@given(spoken, spoken)
def test_words_that_only_follow_take_nothing_back(before: list[str], more: list[str]) -> None:
    """All that was there before stays; what is new does not yet."""
    assert stable(" ".join(before), " ".join([*before, *more])).split() == before


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_legal(before: str, now: str) -> None:
    """Also what no recogniser writes; the same text again is stable as a whole."""
    assert stable(before, now).split() == now.split()[: len(stable(before, now).split())]
    assert stable(now, now).split() == now.split()
    assert stable("", now) == ""


def test_mended_case_and_punctuation_change_nothing() -> None:
    """Recognisers write them in later."""
    assert stable("whats my dog called", "What's my dog called?") == "What's my dog called?"
    assert stable("what is my duck", "What is my dog called?") == "What is my"


def test_what_words_are_about() -> None:
    """Order, inflection and filler are nothing; the query is sent in the order said."""
    one, other = said("um, whose cats are in the garden"), said("the garden, the cat")
    assert one.terms == other.terms
    assert (one.query, other.query) == ("whose cats are in the garden", "the garden, the cat")
    assert said("hey Haru, so like").terms == frozenset()


@pytest.mark.parametrize(
    ("searched", "words", "enough"),
    [
        ("ana bicycle", "ana bicycle denver", True),
        ("ana", "ana bicycle denver", True),
        ("ana bicycle", "ana bicycle insurance", False),
        ("ana bicycle denver", "ana bicycle denver insurance", True),
        ("ana bicycle denver", "ana bicycle denver insurance papers", False),
        ("ana bicycle", "ana bicycle", True),
    ],
)
def test_hits_for_some_words_do_for_all(
    memory: Callable[..., Memory], searched: str, words: str, *, enough: bool
) -> None:
    """Where the best of them holds the rest, or where one word came after several."""
    best = memory("Ana's bicycles are in Denver.", subject="bicycles of Ana")
    assert will_do(said(searched).terms, said(words).terms, best) is enough
