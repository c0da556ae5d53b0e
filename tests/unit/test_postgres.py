"""What PostgreSQL adds to the contract: many households, many at once, and a database that comes and goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psycopg
import pytest

from haru.bench import sets
from haru.embed.static import StaticEmbedder
from haru.errors import IndexRefused, IndexUnavailable
from haru.index.sqlite import SqliteIndex
from haru.memory import Memory
from haru.postgres.index import PostgresIndex, connections
from haru.testing.postgres import database

Make = Callable[..., Memory]
EMBEDDER = StaticEmbedder()


@pytest.fixture
def address(postgres: str) -> str:
    return database(postgres)


@pytest.fixture
async def index(address: str) -> AsyncIterator[PostgresIndex]:
    opened = PostgresIndex(address, EMBEDDER)
    yield opened
    await opened.aclose()


async def test_households_know_nothing_of_each_other(address: str, memory: Make) -> None:
    """Not by search, listing or id; the same id may stand in both; erasing touches one."""
    smith, jones = (PostgresIndex(address, EMBEDDER, household=name) for name in ("smith", "jones"))
    dog = memory("The user's dog is called Biscuit.")
    await smith.put([dog])
    assert (await jones.search("dog")).hits == ()
    assert (await jones.page()).memories == ()
    assert await jones.get([dog.id]) == []
    await jones.put([dog.changed(text="The user's dog is called Rex.")])
    await jones.erase([dog.id])
    assert await smith.get([dog.id]) == [dog]
    for each in (smith, jones):
        await each.aclose()


async def test_a_forgotten_condition_shows_nothing_all_the_same(
    index: PostgresIndex, address: str, memory: Make
) -> None:
    """Row-level security: a transaction sees the household that it has named, and without one none."""
    await index.put([memory("The user's dog is called Biscuit.")])
    async with await psycopg.AsyncConnection.connect(address) as connection:
        for household, seen in ((None, 0), ("jones", 0), ("household", 1)):
            async with connection.transaction():
                if household:
                    await connection.execute("SELECT set_config('haru.household', %s, true)", [household])
                for table in ("haru_memory", "haru_use"):
                    row = await (await connection.execute(f"SELECT count(*) FROM {table}".encode())).fetchone()
                    assert row == (seen,), (household, table)
        with pytest.raises(psycopg.Error, match="row-level security"):
            async with connection.transaction():
                await connection.execute("SELECT set_config('haru.household', 'jones', true)")
                await connection.execute("INSERT INTO haru_use VALUES ('smith', 'x', 1, NULL, 0)")


async def test_it_ranks_as_the_embedded_index_does(index: PostgresIndex, tmp_path: Path) -> None:
    """The same scorer on the same statistics: the same memories in the same order."""
    reference = SqliteIndex(tmp_path / "index.db", EMBEDDER)
    for each in (index, reference):
        await each.put(sets.household())
    asked = [each.question for each in (*sets.keywords(), *sets.paraphrases())]
    found: list[list[str]] = []
    wanted: list[list[str]] = []
    for question in asked:
        found.append([hit.memory.id for hit in (await index.search(question)).hits])
        wanted.append([hit.memory.id for hit in (await reference.search(question)).hits])
    await reference.aclose()
    assert found == wanted


async def test_a_use_writes_the_text_not_again(index: PostgresIndex, address: str, memory: Make) -> None:
    """The row with text and vectors stays as it is; the count stands apart."""
    dog = memory("The user's dog is called Biscuit.")
    await index.put([dog])

    async def version() -> object:
        async with await psycopg.AsyncConnection.connect(address) as connection, connection.transaction():
            await connection.execute("SELECT set_config('haru.household', 'household', true)")
            return await (await connection.execute("SELECT xmin::text FROM haru_memory")).fetchone()

    before = await version()
    used = dog.changed(use_count=3, last_used_at=dog.created_at)
    await index.put([used])
    assert await index.get([dog.id]) == [used]
    assert await version() == before
    await index.put([used.changed(text="The user's dog is called Rex.")])
    assert await version() != before


async def test_many_start_at_once(address: str, memory: Make) -> None:
    """The tables are made once."""
    opened = [PostgresIndex(address, EMBEDDER) for _ in range(8)]
    await asyncio.gather(*(each.start() for each in opened))
    await opened[0].put([memory("The user's dog is called Biscuit.")])
    assert len((await opened[7].search("dog")).hits) == 1
    for each in opened:
        await each.aclose()


async def test_sixteen_writers_and_sixteen_readers_lose_nothing(address: str, memory: Make) -> None:
    """Of four households, over one pool."""
    pool = connections(address)
    await pool.open()
    homes = [PostgresIndex(address, EMBEDDER, household=f"h{n}", pool=pool) for n in range(4)]
    await homes[0].start()

    async def write(number: int) -> None:
        for n in range(10):
            await homes[number % 4].put([memory(f"The user keeps item {n} in drawer {number}.")])

    async def read(number: int) -> None:
        for _ in range(10):
            await homes[number % 4].search("item in the drawer")

    await asyncio.gather(*(write(n) for n in range(16)), *(read(n) for n in range(16)))
    assert [len((await home.page()).memories) for home in homes] == [40] * 4
    await pool.close()


async def test_tables_of_a_newer_haru_are_left_alone(index: PostgresIndex, address: str) -> None:
    """With what to do."""
    await index.start()
    async with await psycopg.AsyncConnection.connect(address, autocommit=True) as connection:
        await connection.execute("INSERT INTO haru_schema VALUES (99)")
    newer = PostgresIndex(address, EMBEDDER)
    with pytest.raises(IndexRefused, match="newer Haru"):
        await newer.start()
    await newer.aclose()


async def test_a_connection_that_is_cut_is_made_anew(index: PostgresIndex, postgres: str, memory: Make) -> None:
    """The call it hits fails as unavailable, without the words of the memory; the next ones go through."""
    await index.put([memory("The user's dog is called Biscuit.")])
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'haru'")
    failures: list[str] = []
    for _ in range(20):
        try:
            found = (await index.search("dog")).hits
            break
        except IndexUnavailable as error:
            failures.append(str(error))
            await asyncio.sleep(0.1)
    assert len(found) == 1
    assert not any("Biscuit" in each for each in failures)


async def test_where_nothing_listens_it_is_unavailable() -> None:
    """And says so in the time of the pool, not never."""
    index = PostgresIndex("postgresql://haru@127.0.0.1:9/haru?connect_timeout=1", EMBEDDER)
    with pytest.raises(IndexUnavailable):
        await index.search("dog")
    await index.aclose()
