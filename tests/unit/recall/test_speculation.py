"""When a search is begun on words that are still being spoken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import pairwise

import pytest

from haru import words
from haru.recall.desk import RecallSettings
from haru.recall.heard import Said
from haru.recall.speculation import PAUSE_S, Speculation

Listening = Callable[..., Speculation]


class Begun:
    """Takes down what is begun."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.at_s: list[float] = []
        self.allowed = True

    def __call__(self, said: Said) -> bool:
        if self.allowed:
            self.queries.append(" ".join(words.content(said.query)))
            self.at_s.append(asyncio.get_running_loop().time())
        return self.allowed


@pytest.fixture
def begun() -> Begun:
    return Begun()


@pytest.fixture
async def listening(begun: Begun) -> AsyncIterator[Listening]:
    """Makes one with some settings; it ends with the test."""
    made: list[Speculation] = []

    def make(**settings: float) -> Speculation:
        made.append(Speculation(RecallSettings(**{"debounce_s": 0.0, **settings}), begun))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.end()


def hear(speculation: Speculation, *partials: str) -> None:
    for text in partials:
        speculation.hear(text)


async def test_the_newest_word_is_not_searched(listening: Listening, begun: Begun) -> None:
    """It may be another one in a moment; once two partials agree on it, it is."""
    hear(listening(), "is Ana's bicycle", "is Ana's bicycle in the gar", "is Ana's bicycle in the garden")
    assert begun.queries == ["ana bicycle"]


@pytest.mark.parametrize("text", ["so um", "hey Haru can you tell me", "good morning", ""])
async def test_small_talk_starts_nothing(listening: Listening, begun: Begun, text: str) -> None:
    """However often it is heard."""
    hear(listening(), text, text, text)
    assert begun.queries == []


async def test_a_pause_makes_all_of_it_stable(listening: Listening, begun: Begun) -> None:
    """The same partial again is one."""
    hear(listening(), "where is my bicycle", "where is my bicycle", "where is my bicycle")
    assert begun.queries == ["bicycle"]


async def test_a_recogniser_that_only_tells_changes_has_pauses_too(listening: Listening, begun: Begun) -> None:
    """Nothing new for a while means the same."""
    hear(listening(), "where is", "where is my bicycle")
    await asyncio.sleep(PAUSE_S / 2)
    assert begun.queries == []
    await asyncio.sleep(PAUSE_S)
    assert begun.queries == ["bicycle"]


async def test_one_word_waits_for_the_next_that_has_begun(listening: Listening, begun: Begun) -> None:
    """A search on one word finds anything; where only filler follows, there is nothing to wait for."""
    hear(listening(), "is the bicycle", "is the bicycle gar", "is the bicycle garage", "is the bicycle garage full")
    assert begun.queries == ["bicycle garage"]
    hear(listening(), "my dog", "my dog called", "my dog called again")
    assert begun.queries == ["bicycle garage", "dog"]


async def test_only_a_new_word_is_worth_a_search(listening: Listening, begun: Begun) -> None:
    """Filler, inflection, repetition and a word taken back are none."""
    speculation = listening()
    for text in ("is ana bicycle", "is ana bicycle so", "is ana bicycles then", "is ana ana bicycle", "is ana"):
        hear(speculation, text, text)
    assert begun.queries == ["ana bicycle"]


async def test_no_words_are_searched_twice(listening: Listening, begun: Begun) -> None:
    """Also where a recogniser goes back and forth between two."""
    speculation = listening(speculations=9)
    for text in ("ana bicycle", "ana tricycle", "ana bicycle", "ana tricycle"):
        hear(speculation, text, text)
    assert begun.queries == ["ana bicycle", "ana tricycle"]


async def test_an_utterance_has_so_many_and_the_next_as_many_again(listening: Listening, begun: Begun) -> None:
    """However long it is."""
    speculation = listening(speculations=3)
    for length in range(40):
        hear(speculation, " ".join(f"word{n}" for n in range(length)))
    assert len(begun.queries) == 3
    speculation.end()
    hear(speculation, "ana bicycle", "ana bicycle")
    assert len(begun.queries) == 4


async def test_a_long_utterance_costs_few_searches(listening: Listening, begun: Begun) -> None:
    """They are so far apart, and each time farther."""
    speculation = listening(debounce_s=0.1, speculations=9)
    for length in range(40):
        hear(speculation, " ".join(f"word{n}" for n in range(length)))
        await asyncio.sleep(0.02)
    gaps_s = [after - before for before, after in pairwise(begun.at_s)]
    assert 2 <= len(gaps_s) <= 4
    assert all(gap_s >= 0.1 * 1.5**n for n, gap_s in enumerate(gaps_s))


async def test_a_pause_that_comes_too_soon_is_waited_out(listening: Listening, begun: Begun) -> None:
    """The last words are searched though nothing more is heard."""
    speculation = listening(debounce_s=0.2)
    hear(speculation, "ana bicycle", "ana bicycle")
    hear(speculation, "ana bicycle denver", "ana bicycle denver")
    assert begun.queries == ["ana bicycle"]
    await asyncio.sleep(0.4)
    assert begun.queries == ["ana bicycle", "ana bicycle denver"]


async def test_nothing_begins_after_the_last_word(listening: Listening, begun: Begun) -> None:
    """What was about to begin is called off, and nothing of one utterance counts for the next."""
    speculation = listening(debounce_s=0.1)
    hear(speculation, "ana bicycle", "ana bicycle", "ana bicycle denver", "ana bicycle denver", "ana bicycle denver so")
    speculation.end()
    await asyncio.sleep(PAUSE_S + 0.1)
    assert begun.queries == ["ana bicycle"]
    hear(speculation, "ana bicycle denver so")
    assert begun.queries == ["ana bicycle"]


async def test_what_was_refused_is_tried_with_the_next_words(listening: Listening, begun: Begun) -> None:
    """It counts for nothing."""
    speculation = listening(speculations=1, debounce_s=10.0)
    begun.allowed = False
    hear(speculation, "ana bicycle", "ana bicycle")
    begun.allowed = True
    hear(speculation, "ana bicycle so")
    assert begun.queries == ["ana bicycle"]
