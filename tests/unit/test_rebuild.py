"""The index made again from the journal: exact, without a model, and without what was forgotten."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from haru.chatlog import ChatLog, Turn
from haru.embed.static import StaticEmbedder
from haru.forgotten import Forgotten
from haru.index.inprocess import InProcessIndex
from haru.index.sqlite import SqliteIndex
from haru.journal import Change, Entry, Journal
from haru.memory import Evidence, Feedback, Memory, SearchRef
from haru.ports import Filters
from haru.rebuild import carried, checksum, from_journal
from haru.review import Review

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
Make = Callable[..., Memory]


def parts(home: Path) -> tuple[Journal, Forgotten]:
    """Journal and tombstones of a home folder."""
    return Journal(home / "journal.jsonl"), Forgotten(home / "forgotten.jsonl")


def reviewing(home: Path, index: InProcessIndex | SqliteIndex) -> Review:
    """A review over a home folder."""
    journal, forgotten = parts(home)
    return Review(index, journal, home / "log", forgotten, door="test", now=lambda: NOON)


async def listed(index: InProcessIndex | SqliteIndex) -> list[Memory]:
    """All memories of an index."""
    return list((await index.page(filters=Filters(status=None))).memories)


async def test_the_journal_makes_the_same_index_again(tmp_path: Path, memory: Make) -> None:
    """After adding, editing, retiring and forgetting, an empty file is filled to the same table and says so."""
    first = SqliteIndex(tmp_path / "first.db", StaticEmbedder())
    review = reviewing(tmp_path, first)
    await review.take([memory(f"Fact number {number} of the house.") for number in range(50)])
    cello = await review.add("Robin plays the cello.")
    await review.edit(cello.id, text="Robin plays the viola.")
    await review.retire((await review.add("Robin lives in Boise.")).id)
    await review.forget((await review.add("Robin had knee surgery.")).id)
    before = await listed(first)
    second = SqliteIndex(tmp_path / "second.db")
    journal, forgotten = parts(tmp_path)
    rebuilt = await from_journal(journal, second, forgotten)
    assert rebuilt.exact
    assert rebuilt.memories == 52
    assert rebuilt.checksum == checksum(before)
    assert await listed(second) == before
    await first.aclose()
    await second.aclose()


async def test_what_the_journal_does_not_know_goes(tmp_path: Path, memory: Make) -> None:
    """An index that holds something else holds just what the journal says afterwards."""
    index = InProcessIndex()
    await reviewing(tmp_path, index).add("Robin plays the cello.")
    await index.put([memory("A stray memory.")])
    rebuilt = await from_journal(parts(tmp_path)[0], index, parts(tmp_path)[1])
    assert [each.text for each in await listed(index)] == ["Robin plays the cello."]
    assert rebuilt.exact


async def test_feedback_is_replayed_once(tmp_path: Path, memory: Make) -> None:
    """What searches learned from stands in the journal too, and a second rebuild does not count it again."""
    made = memory("Robin plays the cello.")
    event = Feedback(id="f-1", memory_id=made.id, ref=SearchRef(query_id="q-1"), position=0, at=NOON)
    index = InProcessIndex()
    journal, forgotten = parts(tmp_path)
    async with journal.changing(index) as changes:
        await changes.commit(Entry(at=NOON, by="writer", puts=(made,), feedback=(event,)))
    fresh = InProcessIndex()
    await from_journal(journal, fresh, forgotten)
    await from_journal(journal, fresh, forgotten)
    assert fresh.events == {"f-1": event}


async def test_an_old_journal_does_not_bring_back_what_was_forgotten(tmp_path: Path, memory: Make) -> None:
    """Put back from a backup, the journal still holds the memory; the tombstone holds it off, under any id."""
    index = InProcessIndex()
    review = reviewing(tmp_path, index)
    knee = memory("Robin had knee surgery.")
    await review.take([knee, knee.changed(id="mem-copy"), memory("Robin plays the cello.")])
    backup = (tmp_path / "journal.jsonl").read_bytes()
    await review.forget(knee.id)
    (tmp_path / "journal.jsonl").write_bytes(backup)
    journal, forgotten = parts(tmp_path)
    await from_journal(journal, index, forgotten)
    assert [each.text for each in await listed(index)] == ["Robin plays the cello."]


async def test_a_rebuild_from_the_log_keeps_what_people_did_and_what_the_log_lost(tmp_path: Path, memory: Make) -> None:
    """Carried over: changes by hand, and mined memories whose turns say nothing any more; not those still told."""
    log = ChatLog(tmp_path / "log", now=lambda: NOON)
    for key, said in (("t-told", "We live in Boise."), ("t-wiped", "")):
        await log.append(Turn(id=key, session="s-1", at=NOON, said=said))
    await log.aclose()

    def mined(text: str, turn: str) -> Entry:
        made = memory(text, evidence=(Evidence(session="s-1", turns=(turn,)),))
        return Entry(at=NOON, by="writer", session="s-1", turns=(turn,), puts=(made,))

    index = InProcessIndex()
    journal, forgotten = parts(tmp_path)
    async with journal.changing(index) as changes:
        for text, turn in (("Boise.", "t-told"), ("Ana.", "t-wiped"), ("Biscuit.", "t-removed")):
            await changes.commit(mined(text, turn))
    await reviewing(tmp_path, index).add("Robin plays the cello.")
    kept = carried(journal, tmp_path / "log", forgotten)
    assert [memory.text for entry in kept for memory in entry.puts] == ["Ana.", "Biscuit.", "Robin plays the cello."]
    assert all(not entry.turns for entry in kept)


async def test_what_was_forgotten_is_not_carried_over(tmp_path: Path, memory: Make) -> None:
    """Of a forgotten memory the new journal gets only the fact that it was erased."""
    index = InProcessIndex()
    review = reviewing(tmp_path, index)
    await review.forget((await review.add("Robin had knee surgery.")).id)
    journal, forgotten = parts(tmp_path)
    stale = memory("Knee surgery Robin had.", created_at=NOON - timedelta(days=3))
    await journal.append(Entry(at=NOON, by="cli", puts=(stale,), changes=(Change(verb="add", id=stale.id),)))
    assert not [memory for entry in carried(journal, tmp_path / "log", forgotten) for memory in entry.puts]


def test_a_checksum_tells_memories_apart_not_their_order(memory: Make) -> None:
    """The same memories in another order have the same checksum; one changed word makes another."""
    one, two = memory("One."), memory("Two.")
    assert checksum([one, two]) == checksum([two, one])
    assert checksum([one, two]) != checksum([one, two.changed(text="Too.")])
