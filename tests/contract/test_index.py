"""What every back end must do: the sentences of `haru.ports.MemoryIndex`, each as a test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haru.embed.static import StaticEmbedder
from haru.errors import IndexRefused
from haru.index.inprocess import InProcessIndex
from haru.index.relevan import RelevanIndex
from haru.index.sqlite import SqliteIndex
from haru.memory import Feedback, Memory, SearchRef, Status
from haru.ports import Filters, MemoryIndex
from haru.postgres.index import PostgresIndex
from haru.testing.faults import FaultyIndex
from haru.testing.index_server import KEY, served
from haru.testing.postgres import database

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
EMBEDDER = StaticEmbedder()
Make = Callable[..., Memory]


@pytest.fixture(
    params=["inprocess", "sqlite", "faulty but fast", "relevan over sqlite", "postgres", "relevan over postgres"]
)
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryIndex]:
    """An empty index of each back end."""
    if request.param.startswith("relevan"):
        address = database(request.getfixturevalue("postgres")) if "postgres" in request.param else ""
        async with served(tmp_path, EMBEDDER, postgres=address) as url:
            client = RelevanIndex(url, KEY)
            yield client
            await client.aclose()
        return
    if request.param == "postgres":
        opened: MemoryIndex = PostgresIndex(database(request.getfixturevalue("postgres")), EMBEDDER)
    elif request.param == "sqlite":
        opened = SqliteIndex(tmp_path / "index.db", EMBEDDER)
    elif request.param == "inprocess":
        opened = InProcessIndex(EMBEDDER)
    else:
        opened = FaultyIndex(InProcessIndex(EMBEDDER))
    yield opened
    await opened.aclose()


async def texts(index: MemoryIndex, query: str, **options: object) -> list[str]:
    return [hit.memory.text for hit in (await index.search(query, **options)).hits]  # type: ignore[arg-type]


async def listed(index: MemoryIndex, *, limit: int = 1000, filters: Filters | None = None) -> list[Memory]:
    """All pages."""
    found: list[Memory] = []
    cursor: str | None = None
    while True:
        page = await index.page(cursor=cursor, limit=limit, filters=filters or Filters())
        found.extend(page.memories)
        cursor = page.cursor
        if cursor is None:
            return found


async def test_what_is_put_is_found_and_comes_back_whole(index: MemoryIndex, memory: Make) -> None:
    """Every field survives."""
    put = memory(
        "The user's dog is called Biscuit.", subject="dog Biscuit", tags=("dog", "Biscuit"), importance=4,
        expected_queries=("what's the dog's name",), last_used_at=NOON, use_count=2, sensitive=True,
    )  # fmt: skip
    await index.put([put])
    assert await index.get([put.id]) == [put]
    found = await index.search("what's my dog called")
    assert [(hit.memory, hit.position) for hit in found.hits] == [(put, 0)]
    assert found.hits[0].score > 0
    assert found.ref.query_id


async def test_every_search_has_an_id_of_its_own(index: MemoryIndex) -> None:
    """Feedback must not land on another search."""
    refs = [(await index.search("dog")).ref for _ in range(5)]
    assert len(set(refs)) == 5


async def test_a_put_replaces_by_id(index: MemoryIndex, memory: Make) -> None:
    """Old words find nothing any more."""
    old = memory("The user lives in Boise.")
    await index.put([old])
    await index.put([old.changed(text="The user lives in Denver.")])
    assert await texts(index, "Boise") == []
    assert await texts(index, "Denver") == ["The user lives in Denver."]
    assert len(await listed(index)) == 1


async def test_retired_memories_are_not_found_but_kept(index: MemoryIndex, memory: Make) -> None:
    """Retiring is soft: it can be undone."""
    boise = memory("The user lives in Boise.")
    await index.put([boise.changed(status=Status.RETIRED)])
    assert await texts(index, "Boise") == []
    assert await listed(index) == []
    assert (await index.get([boise.id]))[0].status is Status.RETIRED
    assert [each.id for each in await listed(index, filters=Filters(status=None))] == [boise.id]
    assert await texts(index, "Boise", filters=Filters(status=None)) == [boise.text]
    await index.put([boise])
    assert await texts(index, "Boise") == [boise.text]


async def test_retired_ones_are_found_where_asked_for(index: MemoryIndex, memory: Make) -> None:
    """However common their words are among the active ones."""
    gone = memory("The user's old dog was called Rex.", status=Status.RETIRED)
    await index.put([gone, *(memory(f"The user walks dog number {n}.") for n in range(20))])
    assert await texts(index, "the old dog", filters=Filters(status=Status.RETIRED)) == [gone.text]


async def test_filters_by_person(index: MemoryIndex, memory: Make) -> None:
    """One person's memories alone, where asked."""
    await index.put([memory("Ana likes tea.", person="ana"), memory("Ben likes tea too.", person="ben")])
    assert await texts(index, "tea", filters=Filters(person="ana")) == ["Ana likes tea."]
    assert len(await texts(index, "tea")) == 2
    assert [each.person for each in await listed(index, filters=Filters(person="ben"))] == ["ben"]


async def test_no_more_than_asked_for(index: MemoryIndex, memory: Make) -> None:
    """The size is kept to, and positions count from 0."""
    await index.put([memory(f"The user keeps bees in hive {n}.") for n in range(30)])
    hits = (await index.search("bees in the hive", size=7)).hits
    assert [hit.position for hit in hits] == list(range(7))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


async def test_getting_keeps_the_order_asked_and_skips_the_unknown(index: MemoryIndex, memory: Make) -> None:
    """Also with nothing asked for."""
    made = [memory(f"The user has thing {n}.") for n in range(3)]
    await index.put(made)
    wanted = [made[2].id, "mem-none", made[0].id]
    assert [each.id for each in await index.get(wanted)] == [made[2].id, made[0].id]
    assert await index.get([]) == []


async def test_pages_go_by_importance_then_by_last_touch(index: MemoryIndex, memory: Make) -> None:
    """What a preload wants most comes first; every memory comes once."""
    made = [
        memory(
            f"The user has thing {n}.",
            importance=1 + n % 5,
            updated_at=NOON - timedelta(hours=n),
            last_used_at=NOON + timedelta(days=1) if n == 9 else None,
        )
        for n in range(23)
    ]
    await index.put(made)
    found = await listed(index, limit=4)
    assert len(found) == len({each.id for each in found}) == 23
    assert [each.importance for each in found] == sorted((each.importance for each in made), reverse=True)
    assert found[0].text == "The user has thing 9."
    assert found == await listed(index)


async def test_a_page_is_stable_while_others_change(index: MemoryIndex, memory: Make) -> None:
    """A memory that was there all the time is neither passed over nor shown twice."""
    made = [memory(f"The user has thing {n}.") for n in range(10)]
    await index.put(made)
    first = await index.page(limit=5)
    await index.erase([first.memories[0].id])
    await index.put([memory("The user has a new thing.", importance=5)])
    rest = await index.page(cursor=first.cursor, limit=50)
    seen = [each.id for each in (*first.memories, *rest.memories)]
    assert {each.id for each in made} <= set(seen)
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("cursor", ["", "nonsense", "e30=", "W10=", "ÿ", "WzEsIEluZmluaXR5LCAieCJd"])
async def test_a_foreign_cursor_is_refused(index: MemoryIndex, cursor: str) -> None:
    """And says what to do."""
    with pytest.raises(IndexRefused, match="begin the listing anew"):
        await index.page(cursor=cursor)


async def test_erased_means_gone(index: MemoryIndex, memory: Make) -> None:
    """From search, listing and get; doing it twice, or to nothing, is no error."""
    dog, cat = memory("The user's dog is called Biscuit."), memory("The user's cat is called Mochi.")
    await index.put([dog, cat])
    await index.erase([dog.id, "mem-none"])
    await index.erase([dog.id])
    assert await texts(index, "dog Biscuit") == []
    assert await index.get([dog.id]) == []
    assert [each.id for each in await listed(index, filters=Filters(status=None))] == [cat.id]
    await index.put([dog])
    assert await texts(index, "Biscuit") == [dog.text]


async def test_feedback_counts_once(index: MemoryIndex, memory: Make) -> None:
    """A repeat, as after a crash, is no error."""
    dog = memory("The user's dog is called Biscuit.")
    await index.put([dog])
    ref = (await index.search("dog")).ref
    event = Feedback(id="f-1", memory_id=dog.id, ref=ref, position=0, at=NOON)
    await index.feedback(event)
    await index.feedback(event)
    await index.feedback(Feedback(id="f-2", memory_id="mem-none", ref=SearchRef(), position=3, at=NOON))


async def test_an_empty_put_is_nothing(index: MemoryIndex) -> None:
    """No error either."""
    await index.put([])
    assert await listed(index) == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=60)
    | st.sampled_from(['"', "NEAR(a b)", "a AND", "col:x", "*", "'); DROP TABLE memories; --", "\x00"])
)
async def test_any_text_is_a_legal_question(index: MemoryIndex, query: str) -> None:
    """Quotes, operators, control signs and every script."""
    assert len((await index.search(query, size=3)).hits) <= 3


async def test_any_text_is_a_legal_memory(index: MemoryIndex, memory: Make) -> None:
    """What people say holds everything."""
    odd = [
        'The user\'s "wifi" is a; b--c.',
        "The user said: 'NULL'.",
        "Ünïcödé 🐶 \u2028 line",
        "用户的猫叫小雪。",
        "🐶",
    ]
    made = [memory(text) for text in odd]
    await index.put(made)
    assert [each.text for each in await index.get([each.id for each in made])] == odd


async def test_a_very_long_question_is_answered_in_time(index: MemoryIndex, memory: Make) -> None:
    """A podcast left running must not cost the deadline."""
    await index.put([memory(f"The user has thing {n}.") for n in range(200)])
    await index.search("warm up")
    began = time.perf_counter()
    await index.search("and then the dog ran over the hill with thing 7 " * 4000)
    assert time.perf_counter() - began < 1.0


async def test_many_at_once(index: MemoryIndex, memory: Make) -> None:
    """Searches, writes and listings side by side lose nothing."""
    made = [memory(f"The user keeps item {n} in drawer {n % 9}.") for n in range(120)]

    async def put(part: list[Memory]) -> None:
        for each in part:
            await index.put([each])
            await index.search("item in the drawer")

    await asyncio.gather(*(put(made[n::6]) for n in range(6)), *(listed(index) for _ in range(6)))
    assert len(await listed(index)) == 120


async def test_a_cancelled_call_breaks_nothing(index: MemoryIndex, memory: Make) -> None:
    """An interrupted turn leaves the index as usable as before."""
    await index.put([memory("The user's dog is called Biscuit.")])
    for delay_s in (0.0, 0.0005, 0.002):
        task = asyncio.create_task(index.search("dog"))
        await asyncio.sleep(delay_s)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert await texts(index, "dog") == ["The user's dog is called Biscuit."]


async def test_closing_twice_is_fine(index: MemoryIndex, memory: Make) -> None:
    """Also straight after a write."""
    await index.put([memory("The user's dog is called Biscuit.")])
    await index.aclose()
    await index.aclose()
