from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest

from haru.embed.static import StaticEmbedder
from haru.errors import IndexBusy, IndexUnavailable
from haru.index.inprocess import InProcessIndex
from haru.memory import HOUSEHOLD, Feedback, Memory
from haru.ports import ACTIVE, Filters, Hits, Page
from haru.recall.desk import RecallSettings, Recollection
from haru.recall.session import RecallSession
from haru.recall.sessions import Sessions
from haru.testing.faults import FaultyIndex

LATEST_S = 0.6
"""Budget and a generous margin: these machines are shared, and the benchmark measures the real overshoot."""

EMBEDDER = StaticEmbedder()

HOME = (
    "The user's dog is called Biscuit.",
    "The user's wife's birthday is June 3.",
    "The user lives in Denver.",
    "The user is learning the cello.",
)


async def nothing() -> None:
    """No trouble."""


class Troubled:
    """An index whose searches and listings do something else first."""

    def __init__(self, inner: InProcessIndex) -> None:
        self.inner = inner
        self.before_search: Callable[[str], Awaitable[None]] = lambda _: nothing()
        self.before_page: Callable[[], Awaitable[None]] = nothing
        self.searched: list[str] = []
        self.warmed = 0

    async def search(
        self, query: str, *, size: int = 10, filters: Filters = ACTIVE, customer_id: str = HOUSEHOLD
    ) -> Hits:
        self.searched.append(query)
        await self.before_search(query)
        return await self.inner.search(query, size=size, filters=filters, customer_id=customer_id)

    async def page(self, *, cursor: str | None = None, limit: int = 1000, filters: Filters = ACTIVE) -> Page:
        await self.before_page()
        return await self.inner.page(cursor=cursor, limit=limit, filters=filters)

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        return await self.inner.get(ids)

    async def put(self, memories: Sequence[Memory]) -> None:
        await self.inner.put(memories)

    async def erase(self, ids: Sequence[str]) -> None:
        await self.inner.erase(ids)

    async def feedback(self, event: Feedback) -> None:
        await self.inner.feedback(event)

    async def warm(self) -> None:
        self.warmed += 1

    async def aclose(self) -> None:
        await self.inner.aclose()


@pytest.fixture
async def index(memory: Callable[..., Memory]) -> AsyncIterator[Troubled]:
    """A small household."""
    inner = InProcessIndex(EMBEDDER)
    await inner.put([memory(text) for text in HOME])
    yield Troubled(inner)
    await inner.aclose()


@pytest.fixture
async def sessions(index: Troubled) -> AsyncIterator[Sessions]:
    """All sessions over the household."""
    opened = Sessions(index, EMBEDDER, RecallSettings(background_s=3.0))
    yield opened
    await opened.aclose()


async def ready(session: RecallSession) -> None:
    """Let the preload come to its end."""
    session.start()
    for _ in range(200):
        await asyncio.sleep(0.01)
        if (await session.recall("")).receipt.preload != "loading":
            return


async def timed(session: RecallSession, text: str) -> tuple[Recollection, float]:
    """One recall and how long it took."""
    began = time.perf_counter()
    recollection = await session.recall(text)
    return recollection, time.perf_counter() - began


def texts(recollection: Recollection) -> list[str]:
    return [memory.text for memory in recollection.memories]


async def hang(_: str) -> None:
    await asyncio.sleep(3600)


async def test_a_search_in_time_is_what_comes_back(sessions: Sessions) -> None:
    """The receipt says that the index answered, by which search, and with what."""
    session = sessions.open()
    recollection = await session.recall("hey Haru, um, could you tell me what my dog is called again please")
    assert texts(recollection)[0] == HOME[0]
    receipt = recollection.receipt
    assert (receipt.outcome, receipt.query, receipt.problem, receipt.breaker) == (
        "search",
        "what my dog is called again",
        "",
        "closed",
    )
    assert receipt.ref is not None
    assert receipt.recalled[0].ref == receipt.ref
    assert receipt.recalled[0].id == recollection.memories[0].id


@pytest.mark.parametrize(
    "text",
    ["hey", "hi Haru", "thanks", "thank you so much", "yes", "no", "okay", "good night", "never mind", "uh", "stop",
     "hello hello", "", "   ", "what about it then"],
)  # fmt: skip
async def test_small_talk_searches_and_recalls_nothing(index: Troubled, sessions: Sessions, text: str) -> None:
    """A greeting once filled the prompt with unrelated facts."""
    recollection = await sessions.open().recall(text)
    assert recollection.memories == ()
    assert (recollection.receipt.outcome, recollection.receipt.waited_ms) == ("none", 0.0)
    assert index.searched == []


async def test_a_hung_index_costs_the_budget_and_no_quality(index: Troubled, sessions: Sessions) -> None:
    """At the deadline the cache is ranked by the same scorer, so the right memory still comes."""
    session = sessions.open()
    await ready(session)
    index.before_search = hang
    recollection, took_s = await timed(session, "what's my dog called")
    assert took_s < LATEST_S
    assert texts(recollection)[0] == HOME[0]
    assert (recollection.receipt.outcome, recollection.receipt.problem) == ("cache", "late")
    assert recollection.receipt.recalled[0].source == "cache"


async def test_small_talk_and_strangers_stay_out_of_the_fallback_too(index: Troubled, sessions: Sessions) -> None:
    """A query that shares nothing with the store brings nothing, on this path as on the other."""
    session = sessions.open()
    await ready(session)
    index.before_search = hang
    for text in ("how do magnets work", "QZXV FLOOP", "what's the capital of Peru"):
        recollection = await session.recall(text)
        assert recollection.memories == ()
        assert recollection.receipt.outcome == "none"


async def test_a_failing_preload_is_said_and_harms_nothing(
    index: Troubled, sessions: Sessions, caplog: pytest.LogCaptureFixture
) -> None:
    """It is a warning and a word in the receipt; the search still serves."""

    async def refuse() -> None:
        raise IndexUnavailable("no listing today")

    index.before_page = refuse
    session = sessions.open()
    await ready(session)
    recollection = await session.recall("what's my dog called")
    assert texts(recollection)[0] == HOME[0]
    assert (recollection.receipt.preload, recollection.receipt.preload_problem) == ("failed", "index-unavailable")
    assert any("preload failed" in record.message for record in caplog.records)


async def test_preload_and_search_share_one_budget(index: Troubled, sessions: Sessions) -> None:
    """With both hung, a turn still ends at its deadline, empty-handed and saying why."""
    index.before_search = hang
    index.before_page = lambda: asyncio.sleep(3600)
    recollection, took_s = await timed(sessions.open(), "what's my dog called")
    assert took_s < LATEST_S
    receipt = recollection.receipt
    assert (receipt.outcome, receipt.problem, receipt.preload) == ("none", "late", "loading")


async def test_a_refused_search_waits_for_a_preload_that_is_nearly_there(index: Troubled, sessions: Sessions) -> None:
    """A dead search endpoint leaves the whole budget to the listing."""

    async def refuse(_: str) -> None:
        raise IndexUnavailable("dead")

    index.before_search = refuse
    index.before_page = lambda: asyncio.sleep(0.05)
    recollection = await sessions.open().recall("what's my dog called")
    assert texts(recollection)[0] == HOME[0]
    assert recollection.receipt.problem == "index-unavailable"


async def test_a_late_answer_serves_the_next_turn(
    index: Troubled, sessions: Sessions, memory: Callable[..., Memory]
) -> None:
    """A first request after a pause took seconds; its answer must not be thrown away, nor called 'unreachable'."""
    session = sessions.open()
    await ready(session)
    new = memory("The user's dog Biscuit eats lamb and rice.")
    await index.inner.put([new])
    index.before_search = lambda _: asyncio.sleep(0.6)
    first, took_s = await timed(session, "what's my dog called")
    assert took_s < LATEST_S
    assert first.receipt.problem == "late"
    assert new.text not in texts(first)
    await asyncio.sleep(0.5)
    second, took_s = await timed(session, "and what does Biscuit eat")
    assert took_s < LATEST_S
    assert second.receipt.outcome == "late+cache"
    late = [each for each in second.receipt.recalled if each.source == "late"]
    assert new.id in {each.id for each in late}
    assert all(each.ref and each.ref.query_id for each in late)


async def test_after_a_cold_start_the_search_serves_again(index: Troubled, sessions: Sessions) -> None:
    """One late answer is no reason to stop asking."""
    session = sessions.open()
    await ready(session)
    index.before_search = lambda _: asyncio.sleep(0.6)
    await session.recall("what's my dog called")
    await asyncio.sleep(0.5)
    index.before_search = lambda _: nothing()
    assert (await session.recall("when is my wife's birthday")).receipt.outcome == "search"


@pytest.mark.parametrize("cancelled", [False, True])
async def test_late_work_survives_collection_and_interruption(
    index: Troubled, sessions: Sessions, memory: Callable[..., Memory], *, cancelled: bool
) -> None:
    """The loop holds tasks weakly: a search that nobody kept a hold of once vanished while it waited."""
    session = sessions.open()
    await ready(session)
    new = memory("The user's dog Biscuit is a beagle.")
    await index.inner.put([new])
    index.before_search = lambda _: asyncio.sleep(0.8)
    turn = asyncio.create_task(session.recall("what breed is my dog Biscuit"))
    await asyncio.sleep(0.1)
    if cancelled:
        turn.cancel()
    for _ in range(10):
        gc.collect()
        await asyncio.sleep(0.01)
    await asyncio.wait({turn})
    await asyncio.sleep(0.8)
    index.before_search = hang
    assert new.text in texts(await session.recall("so Biscuit is a beagle"))


async def test_nothing_of_one_session_reaches_the_next(
    index: Troubled, sessions: Sessions, memory: Callable[..., Memory]
) -> None:
    """A late answer was once kept in one shared slot, and the old talk's memories went into the new one."""
    old = sessions.open()
    await ready(old)
    secret = memory("The user plans a party for Ana at the lake.")
    index.before_search = lambda _: asyncio.sleep(0.6)
    asking = asyncio.create_task(old.recall("what did I plan for Ana's party"))
    await asyncio.sleep(0.1)
    await sessions.close(old)
    await asyncio.wait({asking})
    new = sessions.open()
    await ready(new)
    await index.inner.put([secret])
    await asyncio.sleep(0.7)
    index.before_search = hang
    recollection = await new.recall("tell me about the party for Ana")
    assert recollection.memories == ()
    assert recollection.receipt.ref is None


async def test_a_slow_older_search_does_not_replace_a_newer_one(index: Troubled, sessions: Sessions) -> None:
    """Two questions, the first one slow: the second turn's receipt names the second search alone."""
    session = sessions.open()
    await ready(session)
    index.before_search = lambda query: asyncio.sleep(0.6 if "dog" in query else 0.0)
    await session.recall("what's my dog called")
    second = await session.recall("when is my wife's birthday")
    assert second.receipt.outcome == "search"
    assert {each.ref for each in second.receipt.recalled} == {second.receipt.ref}
    await asyncio.sleep(0.5)
    assert second.receipt.recalled[0].id == second.memories[0].id


async def test_a_dead_store_is_not_waited_for_from_the_fourth_turn_on(index: Troubled, sessions: Sessions) -> None:
    """Three misses open the breaker; then the cache answers at once, and a probe notices the return."""
    session = sessions.open()
    await ready(session)
    index.before_search = hang
    for _ in range(3):
        await session.recall("what's my dog called")
    recollection, _ = await timed(session, "what's my dog called")
    assert recollection.receipt.waited_ms < 100
    assert (recollection.receipt.breaker, recollection.receipt.problem) == ("open", "breaker-open")
    assert texts(recollection)[0] == HOME[0]
    index.before_search = lambda _: nothing()
    for _ in range(50):
        await asyncio.sleep(0.1)
        if sessions.breaker.closed:
            break
    assert (await session.recall("what's my dog called")).receipt.outcome == "search"


async def test_being_asked_to_wait_is_no_fault(index: Troubled, sessions: Sessions) -> None:
    """Three busy signals once opened a breaker and a hundred calls were refused; and nothing is asked twice."""

    async def busy(_: str) -> None:
        raise IndexBusy("slow down", retry_after_s=2.0)

    session = sessions.open()
    await ready(session)
    index.before_search = busy
    for _ in range(5):
        recollection, took_s = await timed(session, "what's my dog called")
        assert took_s < LATEST_S
        assert texts(recollection)[0] == HOME[0]
        assert recollection.receipt.problem == "index-busy"
    assert sessions.breaker.closed
    assert len(index.searched) == 5


async def test_an_index_that_breaks_its_promise_does_not_break_the_turn(
    index: Troubled, sessions: Sessions, caplog: pytest.LogCaptureFixture
) -> None:
    """A foreign exception out of an adapter is named in the log and otherwise a miss like any other."""

    async def broken(_: str) -> None:
        raise ValueError("biscuit")

    session = sessions.open()
    await ready(session)
    index.before_search = broken
    with caplog.at_level(logging.WARNING):
        recollection = await session.recall("what's my dog called")
    assert texts(recollection)[0] == HOME[0]
    assert recollection.receipt.problem == "ValueError"
    assert "biscuit" not in caplog.text.lower()


async def test_an_index_that_repeats_itself_fills_no_prompt(index: Troubled, memory: Callable[..., Memory]) -> None:
    """Hits twice over, and more than were asked for: each memory comes up once."""
    wrong = FaultyIndex(index.inner, "wrong")
    sessions = Sessions(wrong, EMBEDDER, RecallSettings())
    recollection = await sessions.open().recall("what's my dog called")
    assert texts(recollection) == [HOME[0]]
    assert len(recollection.receipt.recalled) == 1
    await sessions.aclose()


async def test_no_adapters_mistake_outlasts_an_outage(
    index: Troubled, memory: Callable[..., Memory], caplog: pytest.LogCaptureFixture
) -> None:
    """A probe or a preload that raises something foreign must neither end the watch nor pass for success."""

    async def broken(_: str) -> None:
        raise ValueError("mine")

    async def broken_listing() -> None:
        raise ValueError("mine")

    index.before_search, index.before_page = broken, broken_listing
    sessions = Sessions(index, EMBEDDER, RecallSettings())
    session = sessions.open()
    for _ in range(4):
        recollection = await session.recall("what's my dog called")
    assert (recollection.receipt.preload, recollection.receipt.preload_problem) == ("failed", "ValueError")
    assert not sessions.breaker.closed
    await asyncio.sleep(1.3)
    index.before_search = lambda _: nothing()
    for _ in range(50):
        await asyncio.sleep(0.1)
        if sessions.breaker.closed:
            break
    assert (await session.recall("what's my dog called")).receipt.outcome == "search"
    await sessions.aclose()


async def test_words_heard_early_are_searched_early(index: Troubled, sessions: Sessions) -> None:
    """The search is under way before the last word, and the reply waits for nothing."""
    index.before_search = lambda _: asyncio.sleep(0.2)
    session = sessions.open()
    session.hear("hey Haru what is my dog")
    session.hear("hey Haru what is my dog called")
    session.hear("hey Haru what is my dog called")  # the text stays: it is searched at once
    await asyncio.sleep(0.5)
    recollection = await session.recall("Hey Haru, what is my dog called?")
    assert recollection.receipt.outcome == "speculative"
    assert recollection.receipt.waited_ms < 100
    assert index.searched == ["what is my dog"]  # "called" tells no more
    assert texts(recollection)[0] == HOME[0]


async def test_after_a_silence_the_index_hears_that_speech_begins(index: Troubled) -> None:
    """Once, and not at the first word of all: then the listing opens what is to be opened."""
    sessions = Sessions(index, EMBEDDER, RecallSettings(idle_s=0.2))
    session = sessions.open()
    for silence_s, warmed in ((0.0, 0), (0.01, 0), (0.3, 1), (0.01, 1)):
        await asyncio.sleep(silence_s)
        session.hear("so")
        await asyncio.sleep(0.01)
        assert index.warmed == warmed
    await sessions.aclose()


async def test_a_long_utterance_costs_few_searches(index: Troubled, sessions: Sessions) -> None:
    """Partial text comes every few words; searches don't."""
    session = sessions.open()
    words = [
        "my",
        "dog",
        "Biscuit",
        "and",
        "my",
        "wife",
        "and",
        "the",
        "cello",
        "in",
        "Denver",
        "and",
        "the",
        "birthday",
        "and",
        "a",
        "holiday",
        "by",
        "the",
        "lake",
    ]
    for count in range(1, len(words) + 1):
        session.hear(" ".join(words[:count]))
        await asyncio.sleep(0.03)
    recollection = await session.recall(" ".join(words))
    assert recollection.receipt.searches <= 4
    assert len(index.searched) <= 4


async def test_a_changed_last_word_is_searched_anew(index: Troubled, sessions: Sessions) -> None:
    """What was searched ahead is stamped with its words: it answers only for them."""
    session = sessions.open()
    session.hear("when is my dog")
    await asyncio.sleep(0.05)
    recollection = await session.recall("when is my wife's birthday")
    assert recollection.receipt.outcome == "search"
    assert recollection.receipt.query == "when is my wife's birthday"
    assert texts(recollection)[0] == HOME[1]


async def test_forgotten_means_gone_from_a_running_session(index: Troubled, sessions: Sessions) -> None:
    """The cache of the conversation under way is one of the places where a memory stands."""
    session = sessions.open()
    await ready(session)
    dog = (await session.recall("my dog")).memories[0]
    sessions.forget([dog.id])
    index.before_search = hang
    assert HOME[0] not in texts(await session.recall("what's my dog called"))


async def test_an_answer_on_its_way_does_not_bring_back_what_was_forgotten(index: Troubled, sessions: Sessions) -> None:
    """Listing and search had read the memory before it was forgotten."""
    going = asyncio.Event()

    async def slow(_: str) -> None:
        await going.wait()

    session = sessions.open()
    dog = (await index.inner.search("dog")).hits[0].memory
    index.before_search, index.before_page = slow, going.wait
    session.hear("what is my dog called")
    await asyncio.sleep(0.05)
    sessions.forget([dog.id])
    going.set()
    assert dog not in (await session.recall("what is my dog called")).memories
    await ready(session)
    index.before_search = hang
    assert dog not in (await session.recall("what's my dog called")).memories


@pytest.mark.parametrize("preload", [1000, 2])
async def test_what_another_process_forgot_is_not_at_hand_after_a_refresh(
    index: Troubled, memory: Callable[..., Memory], preload: int
) -> None:
    """What a search brought is looked after like the preload, also where it is beyond the most important ones."""
    sessions = Sessions(index, EMBEDDER, RecallSettings(background_s=3.0, preload=preload, refresh_s=0.0))
    session = sessions.open()
    kept, gone = memory("The user's cat is called Miso.", importance=1), memory("Ana's cat is Toto.", importance=1)
    await ready(session)
    await index.inner.put([kept, gone])
    session.hear("whose cat")
    session.hear("whose cat")  # the text stays: the person pauses
    await session.recall("how are the cats called")
    await index.inner.erase([gone.id])
    await session.recall("what's my dog called")
    await asyncio.sleep(0.5)
    index.before_search = hang
    assert (await session.recall("tell me of the cats")).memories == (kept,)
    await sessions.aclose()


async def test_a_long_outage_of_one_search_says_why_nothing_is_asked(index: Troubled) -> None:
    """Searches that pile up are no open breaker: a person reading the receipt must look for the right thing."""
    sessions = Sessions(index, EMBEDDER, RecallSettings(budget_s=0.05, speculations=20, debounce_s=0.0))
    session = sessions.open()
    await ready(session)
    index.before_search = hang
    for words in ("dog lead", "wife hat", "cello bow", "lake hut", "boat oar", "house key", "tree nut", "garden pot"):
        session.hear(words)
        session.hear(words)
    receipt = (await session.recall("where is my bike")).receipt
    assert (receipt.breaker, receipt.problem) == ("closed", "too-many-under-way")
    assert len(index.searched) == 8
    await sessions.aclose()


async def test_a_transcript_of_200_000_letters_costs_no_more_than_the_budget(
    index: Troubled, sessions: Sessions
) -> None:
    """A podcast left running is a legal question."""
    session = sessions.open()
    await ready(session)
    _, took_s = await timed(session, "and then the dog ran over the hill " * 6000)
    assert took_s < LATEST_S
    index.before_search = hang
    _, took_s = await timed(session, "x" * 200_000)
    assert took_s < LATEST_S


async def test_the_loop_is_never_blocked(
    index: Troubled, sessions: Sessions, memory: Callable[..., Memory], ticker: Callable[[], float]
) -> None:
    """A thousand memories at hand, a stalled store and a busy thread: sound would go on playing."""
    await index.inner.put(
        [memory(f"The user keeps thing {n} in box {n % 7} " + "by the door " * 25) for n in range(1000)]
    )

    async def stall(_: str) -> None:
        await asyncio.to_thread(time.sleep, 0.5)

    index.before_search = stall
    session = sessions.open()
    for _ in range(4):
        await session.recall("in which box is the thing by the door")
    assert ticker() < 0.2


async def test_a_search_that_drips_for_ever_ends_at_its_limit(index: Troubled, memory: Callable[..., Memory]) -> None:
    """A limit on silence is never reached by a byte now and then: the limit is on the whole."""

    async def drip(_: str) -> None:
        while True:
            await asyncio.sleep(0.01)

    sessions = Sessions(index, EMBEDDER, RecallSettings(background_s=0.6))
    session = sessions.open()
    await ready(session)
    index.before_search = drip
    before = len(asyncio.all_tasks())
    _, took_s = await timed(session, "what's my dog called")
    assert took_s < LATEST_S
    await asyncio.sleep(0.6)
    assert len(asyncio.all_tasks()) == before
    await sessions.aclose()


async def test_closing_ends_everything_at_once(index: Troubled, sessions: Sessions) -> None:
    """No task of a session outlives it."""
    index.before_search = hang
    session = sessions.open()
    await session.recall("what's my dog called")
    session.hear("when is my wife's birthday")
    began = time.perf_counter()
    await sessions.close(session)
    assert time.perf_counter() - began < 1.0
