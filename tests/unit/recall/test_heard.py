"""Which partial text is searched, and what is enough."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from haru.recall import heard

words = st.lists(st.sampled_from([f"w{n}" for n in range(30)]), min_size=1, max_size=30, unique=True)


def test_the_newest_word_waits_until_it_stays() -> None:
    """It is often another one a moment later."""
    assert heard.settled("where is my dor", "where is my") == "where is my"
    assert heard.settled("where is my dog", "where is my dog") == "where is my dog"
    assert heard.settled("dog", "") == ""


@given(words)
def test_an_utterance_costs_few_searches_and_the_last_of_them_is_enough(spoken: list[str]) -> None:
    """However long it is: word by word, as it is spoken, the last word left out."""
    searched: set[str] = set()
    searches = 0
    for count in range(1, len(spoken)):
        if heard.worth_searching(set(spoken[:count]), searched):
            searched = set(spoken[:count])
            searches += 1
    assert searches <= 8
    if len(spoken) >= heard.ENOUGH_WORDS:
        assert heard.foreseen(set(spoken), searched)


@given(words, words)
def test_another_matter_is_never_foreseen(spoken: list[str], other: list[str]) -> None:
    """What was searched must be most of what is asked, and hardly anything else."""
    asked, searched = set(spoken), set(other)
    if heard.foreseen(asked, searched):
        assert len(asked & searched) * 2 >= len(asked)
        assert len(searched - asked) <= 1
