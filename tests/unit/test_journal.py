from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haru.errors import IndexUnavailable, LogUnwritable, RecordError
from haru.index.inprocess import InProcessIndex
from haru.journal import Applied, Change, Entry, Journal, parse, replay
from haru.lines import Line
from haru.memory import Memory
from haru.testing.faults import FaultyIndex

AT = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
Make = Callable[..., Memory]


def entry(*memories: Memory, **fields: object) -> Entry:
    return Entry.model_validate({"at": AT, "by": "test", "puts": memories, **fields})


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.jsonl")


async def test_a_change_stands_in_both(journal: Journal, memory: Make) -> None:
    """First in the journal, then in the index, and marked as done."""
    index = InProcessIndex()
    dog = memory("The user's dog is called Biscuit.")
    async with journal.changing(index) as changes:
        await changes.commit(entry(dog, changes=(Change(verb="add", id=dog.id),)))
    kinds = [record.kind for _, record in journal.read()]
    assert kinds == ["entry", "applied"]
    assert await index.get([dog.id]) == [dog]
    assert journal.pending() == []


async def test_what_the_index_missed_is_made_up_for(journal: Journal, memory: Make) -> None:
    """The next one who changes anything first finishes what is journalled."""
    inner = InProcessIndex()
    index = FaultyIndex(inner, "dead")
    dog, cat = memory("The user's dog is called Biscuit."), memory("The user's cat is called Mochi.")
    with pytest.raises(IndexUnavailable):
        async with journal.changing(index) as changes:
            await changes.commit(entry(dog))
    assert [each.puts for each in journal.pending()] == [(dog,)]
    with pytest.raises(IndexUnavailable):
        async with journal.changing(index):
            pass
    index.fault = "fast"
    async with Journal(journal.path).changing(index) as changes:
        await changes.commit(entry(cat))
    assert await inner.get([dog.id, cat.id]) == [dog, cat]
    assert journal.pending() == []


async def test_changes_are_made_one_at_a_time(journal: Journal, memory: Make) -> None:
    """Two that read, decide and write lose neither one's work."""
    index = InProcessIndex()
    counted = memory("The user counts.")
    await index.put([counted])

    async def count(own: Journal) -> None:
        for _ in range(20):
            async with own.changing(index) as changes:
                (now,) = await index.get([counted.id])
                await asyncio.sleep(0)
                await changes.commit(entry(now.changed(use_count=now.use_count + 1)))

    await asyncio.gather(count(journal), count(Journal(journal.path)))
    assert (await index.get([counted.id]))[0].use_count == 40


async def test_replaying_gives_what_the_index_holds(journal: Journal, memory: Make) -> None:
    """Adds, changes and erasures, in order."""
    index = InProcessIndex()
    dog, cat = memory("The user's dog is called Biscuit."), memory("The user's cat is called Mochi.")
    async with journal.changing(index) as changes:
        await changes.commit(entry(dog, cat))
        await changes.commit(entry(dog.changed(importance=5)))
        await changes.commit(entry(erased=(cat.id,)))
    assert replay(journal.read()) == {dog.id: dog.changed(importance=5)}
    assert await index.get([dog.id, cat.id]) == [dog.changed(importance=5)]


async def test_damage_costs_a_line_and_is_counted(journal: Journal, memory: Make) -> None:
    """A torn line in the middle, as of a crash, hides nothing after it."""
    await journal.append(entry(memory("The user's dog is called Biscuit.")))
    with journal.path.open("ab") as file:
        file.write(b'{"kind": "entry", "at": "2026-12-0')
    await journal.append(entry(memory("The user's cat is called Mochi.")))
    assert len(replay(journal.read())) == 2
    assert journal.problems == 1


def test_a_journal_that_cannot_be_read_is_no_empty_one(journal: Journal) -> None:
    """It would look as if nothing had ever been learned."""
    journal.path.mkdir(parents=True)
    with pytest.raises(LogUnwritable, match="cannot read"):
        list(journal.read())


def test_no_journal_is_an_empty_one(journal: Journal) -> None:
    """Before the first change."""
    assert list(journal.read()) == []
    assert journal.pending() == []


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_refused(data: bytes) -> None:
    """A reader of the journal never falls over."""
    try:
        parse(Line(0, len(data) + 1, data))
    except RecordError:
        return


@given(st.data())
def test_a_damaged_record_is_a_record_or_refused(data: st.DataObject) -> None:
    """One byte changed anywhere."""
    body = bytearray(Applied(entry="j-1").model_dump_json().encode())
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        parse(Line(0, len(body) + 1, bytes(body)))
    except RecordError:
        return
