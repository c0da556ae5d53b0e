"""A whole turn with searches on partial text: what is waited for, what serves, and what the receipt says of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from haru import words
from haru.embed.static import StaticEmbedder
from haru.errors import IndexUnavailable
from haru.index.inprocess import InProcessIndex
from haru.memory import HOUSEHOLD, Memory
from haru.ports import ACTIVE, Filters, Hits
from haru.recall.desk import RecallSettings, Recollection
from haru.recall.session import RecallSession
from haru.recall.sessions import Sessions

EMBEDDER = StaticEmbedder()
BICYCLE = "Ana's bicycle is in the garden shed in Denver."
INSURANCE = "The bicycle insurance of Ana ends in March."
BIRTHDAY = "The user's wife's birthday is June 3."


class Scripted(InProcessIndex):
    """Answers a search when the script lets it, which names it by its content words."""

    def __init__(self) -> None:
        super().__init__(EMBEDDER)
        self.searched: list[str] = []
        self.held: dict[str, asyncio.Event] = {}
        self.broken: set[str] = set()

    def hold(self, query: str) -> asyncio.Event:
        """This search answers when the event is set."""
        return self.held.setdefault(query, asyncio.Event())

    async def search(
        self, query: str, *, size: int = 10, filters: Filters = ACTIVE, customer_id: str = HOUSEHOLD
    ) -> Hits:
        told = " ".join(words.content(query))
        self.searched.append(told)
        if told in self.held:
            await self.held[told].wait()
        if told in self.broken:
            raise IndexUnavailable("not today")
        return await super().search(query, size=size, filters=filters, customer_id=customer_id)


@pytest.fixture
async def index(memory: Callable[..., Memory]) -> AsyncIterator[Scripted]:
    """Three memories."""
    scripted = Scripted()
    await scripted.put([memory(text) for text in (BICYCLE, INSURANCE, BIRTHDAY)])
    yield scripted
    await scripted.aclose()


@pytest.fixture
async def session(index: Scripted) -> AsyncIterator[RecallSession]:
    """Nothing is at hand but what its searches bring; partial text is searched as often as it changes."""
    sessions = Sessions(index, EMBEDDER, RecallSettings(preload=0, size=1, debounce_s=0.0))
    yield sessions.open()
    await sessions.aclose()


async def heard(session: RecallSession, text: str) -> None:
    """Somebody says so much and pauses, and a search on it has the time to answer."""
    session.hear(text)
    session.hear(text)
    await asyncio.sleep(0.1)


def texts(recollection: Recollection) -> list[str]:
    return [memory.text for memory in recollection.memories]


def sources(recollection: Recollection) -> set[str]:
    return {each.source for each in recollection.receipt.recalled}


@pytest.mark.parametrize("last", ["", " again please", ", in the shed of Ana"])
async def test_a_last_word_that_tells_nothing_new_costs_nothing(
    index: Scripted, session: RecallSession, last: str
) -> None:
    """The search on the words so far is the one."""
    await heard(session, "is the bicycle in Ana's shed")
    recollection = await session.recall(f"Is the bicycle in Ana's shed{last}?")
    assert texts(recollection) == [BICYCLE]
    receipt = recollection.receipt
    assert (receipt.outcome, receipt.problem, receipt.searches) == ("speculative", "", 1)
    assert receipt.waited_ms < 1
    assert receipt.ref == receipt.recalled[0].ref is not None
    assert len(index.searched) == 1


async def test_a_search_under_way_is_not_begun_again(index: Scripted, session: RecallSession) -> None:
    """Its answer is what the turn waits for."""
    answered = index.hold("bicycle ana")
    await heard(session, "where is the bicycle of Ana")
    turn = asyncio.create_task(session.recall("where is the bicycle of Ana"))
    await asyncio.sleep(0.05)
    assert not turn.done()
    answered.set()
    assert (await turn).receipt.outcome == "speculative"
    assert index.searched == ["bicycle ana"]


async def test_a_late_word_that_the_best_memory_holds_costs_nothing(index: Scripted, session: RecallSession) -> None:
    """What was found is ranked by all the words, and they are not searched again."""
    await heard(session, "is the bicycle of Ana")
    index.hold("bicycle ana garden shed")
    recollection = await session.recall("is the bicycle of Ana in the garden shed")
    assert texts(recollection) == [BICYCLE]
    receipt = recollection.receipt
    assert receipt.waited_ms < 1
    assert (receipt.outcome, receipt.problem, receipt.ref) == ("speculative", "", None)
    assert receipt.query == "is the bicycle of Ana in the garden shed"
    assert receipt.recalled[0].source == "speculative"
    assert receipt.recalled[0].ref is not None
    await asyncio.sleep(0)
    assert index.searched == ["bicycle ana"]


async def test_the_final_words_decide_between_what_was_found(index: Scripted, session: RecallSession) -> None:
    """The same search brought both memories; the last word tells which of them is meant."""
    for last, wanted in (("shed", BICYCLE), ("insurance", INSURANCE)):
        await heard(session, "what about the bicycle of Ana")
        index.hold(f"bicycle ana {last}")
        recollection = await session.recall(f"what about the bicycle of Ana, the {last}")
        assert texts(recollection) == [wanted]
        assert recollection.receipt.waited_ms < 1


async def test_a_late_word_that_nothing_at_hand_holds_is_waited_for(
    index: Scripted, session: RecallSession, memory: Callable[..., Memory]
) -> None:
    """It may be what the question is about."""
    await heard(session, "is the bicycle of Ana")
    await index.put([memory("Ana's bicycle was stolen at the harbour.")])
    answered = index.hold("bicycle ana stolen")
    turn = asyncio.create_task(session.recall("is the bicycle of Ana stolen"))
    await asyncio.sleep(0.05)
    answered.set()
    recollection = await turn
    assert texts(recollection) == ["Ana's bicycle was stolen at the harbour."]
    assert (recollection.receipt.outcome, sources(recollection)) == ("search", {"search"})
    assert recollection.receipt.waited_ms >= 20


async def test_at_the_deadline_what_was_found_for_some_words_serves(index: Scripted, session: RecallSession) -> None:
    """Ranked by all of them, and the receipt says that the search was late."""
    await heard(session, "is the bicycle of Ana")
    index.hold("bicycle ana stolen")
    recollection = await session.recall("is the bicycle of Ana stolen")
    assert BICYCLE in texts(recollection) or INSURANCE in texts(recollection)
    assert (recollection.receipt.outcome, recollection.receipt.problem) == ("speculative", "late")
    assert sources(recollection) == {"speculative"}


async def test_whichever_search_serves_first_ends_the_wait(index: Scripted, session: RecallSession) -> None:
    """The one on the final words would take longer than the one on most of them that is nearly there."""
    answered = index.hold("bicycle ana")
    index.hold("bicycle ana shed")
    await heard(session, "is the bicycle of Ana")
    turn = asyncio.create_task(session.recall("is the bicycle of Ana in the shed"))
    await asyncio.sleep(0.05)
    assert not turn.done()
    answered.set()
    recollection = await turn
    assert texts(recollection) == [BICYCLE]
    assert recollection.receipt.waited_ms < 200
    assert (recollection.receipt.outcome, recollection.receipt.problem) == ("speculative", "")


async def test_words_that_were_misheard_answer_for_nothing(index: Scripted, session: RecallSession) -> None:
    """A search is stamped with the words that it ran on: one of them was never said."""
    await heard(session, "is the bicycle of Ana in the shade")
    answered = index.hold("bicycle ana shed")
    turn = asyncio.create_task(session.recall("is the bicycle of Ana in the shed"))
    await asyncio.sleep(0.05)
    assert not turn.done()
    answered.set()
    assert (await turn).receipt.outcome == "search"


async def test_a_search_that_failed_is_made_up_for(index: Scripted, session: RecallSession) -> None:
    """The final words are searched, though the same words were before."""
    index.broken.add("bicycle ana")
    await heard(session, "is the bicycle of Ana")
    index.broken.clear()
    recollection = await session.recall("is the bicycle of Ana")
    assert (recollection.receipt.outcome, texts(recollection) != []) == ("search", True)
    assert index.searched == ["bicycle ana", "bicycle ana"]


async def test_what_was_forgotten_meanwhile_does_not_serve(index: Scripted, session: RecallSession) -> None:
    """Neither from a search on the same words, nor ranked."""
    [bicycle] = [each for each in (await index.page()).memories if each.text == BICYCLE]
    for said in ("is the bicycle in the shed", "is the bicycle in the shed of Denver"):
        await heard(session, "is the bicycle in the shed")
        session.forget([bicycle.id])
        assert BICYCLE not in texts(await session.recall(said))


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize(("asked", "on_topic"), [("and Ana's bicycle", True), ("my wife's birthday party", False)])
async def test_late_hits_serve_only_what_they_are_about(
    index: Scripted, session: RecallSession, asked: str, *, on_topic: bool, cancelled: bool
) -> None:
    """They are held to the new question like anything at hand, also those of a turn that was interrupted."""
    answered = index.hold("bicycle ana")
    turn = asyncio.create_task(session.recall("where is the bicycle of Ana"))
    await asyncio.sleep(0.05)
    if cancelled:
        turn.cancel()
    await asyncio.wait({turn})
    answered.set()
    await asyncio.sleep(0.1)
    for query in ("ana bicycle", "wife birthday party"):
        index.hold(query)
    recollection = await session.recall(asked)
    assert (texts(recollection) != []) is on_topic
    assert sources(recollection) == ({"late"} if on_topic else set())
    assert recollection.receipt.outcome == ("late+cache" if on_topic else "none")


async def test_words_heard_in_a_turn_that_was_interrupted_are_of_that_turn(
    index: Scripted, session: RecallSession
) -> None:
    """They serve the next one as late hits and are not called its own, nor does it count their searches."""
    await heard(session, "is the bicycle of Ana")
    index.hold("bicycle ana stolen")
    turn = asyncio.create_task(session.recall("is the bicycle of Ana stolen"))
    await asyncio.sleep(0.05)
    turn.cancel()
    await asyncio.wait({turn})
    index.hold("bicycle ana")
    recollection = await session.recall("the bicycle of Ana")
    assert sources(recollection) == {"late"}
    assert (recollection.receipt.searches, recollection.receipt.problem) == (1, "late")


async def test_what_partial_text_found_is_of_an_earlier_turn_in_the_next(
    index: Scripted, session: RecallSession
) -> None:
    """The receipt of a turn calls speculative only what was searched while its own words were spoken."""
    await heard(session, "is the bicycle of Ana")
    await session.recall("is the bicycle of Ana")
    index.hold("bicycle")
    recollection = await session.recall("the bicycle")
    assert (recollection.receipt.outcome, sources(recollection)) == ("late+cache", {"late"})


async def test_a_turn_has_so_many_searches(index: Scripted, session: RecallSession) -> None:
    """Three on partial text at most, and one on the final words."""
    for text in (
        "ana boat",
        "ana boat lake",
        "ana boat lake pier",
        "ana boat lake pier rope",
        "ana boat lake pier rope oar",
    ):
        await heard(session, text)
    recollection = await session.recall("ana boat lake pier rope oar sail")
    assert recollection.receipt.searches == len(index.searched) == 4


async def test_a_closed_session_hears_nothing(index: Scripted, session: RecallSession) -> None:
    """And what it was about to search is called off."""
    session.hear("where is the bicycle of Ana")
    await session.aclose()
    await heard(session, "where is the bicycle of Ana")
    await asyncio.sleep(0.5)
    assert index.searched == []
