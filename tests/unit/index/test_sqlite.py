"""What the embedded index does beyond the contract: one file, several processes, and nothing left behind."""

from __future__ import annotations

import asyncio
import sqlite3
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from haru.embed.static import StaticEmbedder
from haru.errors import IndexRefused, IndexUnavailable
from haru.index.sqlite import SqliteIndex
from haru.memory import Memory
from haru.ports import Reading, Vectors

Make = Callable[..., Memory]


class OtherEmbedder:
    """Another model: its vectors mean something else."""

    id = "other-8"
    dim = 8

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        del kind
        rows = np.zeros((len(texts), 8), np.float32)
        rows[:, 0] = 1.0
        return rows

    def read(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[Reading]:
        return [Reading(row, np.zeros((0, 8), np.float32)) for row in self.embed(texts, kind)]


class BrokenEmbedder(OtherEmbedder):
    """A service that is down."""

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        raise IndexUnavailable("the embedding service does not answer")


async def test_it_is_there_after_a_restart(tmp_path: Path, memory: Make) -> None:
    """One file holds all of it, readable by its owner alone."""
    path = tmp_path / "folder" / "index.db"
    first = SqliteIndex(path, StaticEmbedder())
    await first.put([memory("The user's dog is called Biscuit.")])
    await first.aclose()
    assert path.stat().st_mode & 0o777 == 0o600
    second = SqliteIndex(path, StaticEmbedder())
    assert len((await second.search("dog")).hits) == 1
    await second.aclose()


async def test_another_ones_write_is_seen_by_the_next_search(tmp_path: Path, memory: Make) -> None:
    """Two that opened the file, as gateway and writer do: add, change, retire, erase."""
    one, other = (SqliteIndex(tmp_path / "index.db", StaticEmbedder()) for _ in range(2))
    dog = memory("The user's dog is called Biscuit.")
    assert (await one.search("dog")).hits == ()
    await other.put([dog])
    assert [hit.memory.text for hit in (await one.search("dog")).hits] == [dog.text]
    await other.put([dog.changed(text="The user's dog is called Mochi.")])
    assert [hit.memory.text for hit in (await one.search("Mochi")).hits] == ["The user's dog is called Mochi."]
    assert (await one.search("Biscuit")).hits == ()
    await other.erase([dog.id])
    assert (await one.search("Mochi")).hits == ()
    await one.aclose()
    await other.aclose()


async def test_erased_words_are_overwritten_in_the_files(tmp_path: Path, memory: Make) -> None:
    """A deleted row is only hidden until its bytes are; full-text segments keep old words longer still."""
    index = SqliteIndex(tmp_path / "index.db", StaticEmbedder())
    secret = memory("The user had knee surgery in Zurich.", subject="knee surgery", tags=("knee",))
    await index.put([memory(f"The user has thing {n}.") for n in range(50)])
    await index.put([secret])
    await index.put([secret.changed(text="The user had knee surgery twice, in Zurich.")])
    await index.search("knee surgery")
    await index.erase([secret.id])
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir()).lower()
    assert b"surgeri" not in left
    assert b"surgery" not in left
    assert b"zurich" not in left
    await index.aclose()


async def test_a_new_embedder_is_filled_in_and_the_old_one_dropped(tmp_path: Path, memory: Make) -> None:
    """With progress for who watches; until then, words alone find."""
    path = tmp_path / "index.db"
    old = SqliteIndex(path, StaticEmbedder())
    await old.put([memory(f"The user has thing {n}.") for n in range(150)])
    await old.aclose()
    new = SqliteIndex(path, OtherEmbedder())
    assert await new.progress() == (0, 150)
    assert "no vector of other-8" in " ".join(await new.check())
    assert len((await new.search("thing 7")).hits) > 0
    steps: list[tuple[int, int]] = []
    await new.embed_missing(lambda done, total: steps.append((done, total)))
    assert steps[-1] == (150, 150)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert await new.check() == []
    await new.aclose()
    db = sqlite3.connect(path)
    assert db.execute("SELECT DISTINCT embedder FROM vectors").fetchall() == [("other-8",)]
    db.close()


async def test_a_dead_embedder_costs_no_memory(tmp_path: Path, memory: Make) -> None:
    """Stored without a vector, found by words, filled in later."""
    path = tmp_path / "index.db"
    broken = SqliteIndex(path, BrokenEmbedder())
    await broken.put([memory("The user's dog is called Biscuit.")])
    assert len((await broken.search("Biscuit")).hits) == 1
    await broken.aclose()
    well = SqliteIndex(path, OtherEmbedder())
    await well.embed_missing()
    assert await well.progress() == (1, 1)
    await well.aclose()


@pytest.mark.parametrize(
    "content",
    [b"this is no database at all, but long enough to be read as one" * 20, b"SQLite format 3\x00" + b"\xff" * 5000],
)
async def test_a_damaged_file_is_refused_with_the_remedy(tmp_path: Path, content: bytes) -> None:
    """And left as it is."""
    path = tmp_path / "index.db"
    path.write_bytes(content)
    index = SqliteIndex(path, StaticEmbedder())
    with pytest.raises(IndexRefused, match="haru rebuild"):
        await index.search("dog")
    await index.aclose()
    assert path.read_bytes() == content


async def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    """An older Haru must not write into it."""
    path = tmp_path / "index.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.execute(f"PRAGMA application_id = {int.from_bytes(b'Haru')}")
    db.close()
    index = SqliteIndex(path, StaticEmbedder())
    with pytest.raises(IndexRefused, match="newer Haru"):
        await index.search("dog")
    await index.aclose()


@pytest.mark.parametrize(
    "made", ["CREATE TABLE recipes (name)", "PRAGMA user_version = 3", "PRAGMA application_id = 7"]
)
async def test_a_database_of_another_program_is_left_alone(tmp_path: Path, made: str) -> None:
    """Whoever points the index at the wrong file must not find Haru's tables in it."""
    path = tmp_path / "index.db"
    db = sqlite3.connect(path)
    db.execute(made)
    db.close()
    before = path.read_bytes()
    index = SqliteIndex(path, StaticEmbedder())
    with pytest.raises(IndexRefused, match="another program"):
        await index.search("dog")
    await index.aclose()
    assert path.read_bytes() == before


async def test_a_memory_that_cannot_be_read_is_told_without_its_words(tmp_path: Path, memory: Make) -> None:
    """A damaged row is no crash, and what it says stays out of logs."""
    index = SqliteIndex(tmp_path / "index.db", StaticEmbedder())
    dog = memory("The user's dog is called Biscuit.")
    await index.put([dog])
    db = sqlite3.connect(index.path)
    db.execute("UPDATE memories SET body = json_set(body, '$.kind', 'Biscuit')")
    db.commit()
    db.close()
    for read in (index.search("dog"), index.page(), index.get([dog.id])):
        with pytest.raises(IndexRefused, match="haru rebuild") as told:
            await read
        assert "Biscuit" not in "".join(traceback.format_exception(told.value))
    await index.aclose()


async def test_a_held_lock_is_not_a_fault_of_the_full_text(tmp_path: Path, memory: Make) -> None:
    """`haru doctor` beside a long write says to try again, and does not send anybody to rebuild."""
    index = SqliteIndex(tmp_path / "index.db", StaticEmbedder(), busy_timeout_s=0.1)
    await index.put([memory("The user's dog is called Biscuit.")])
    hog = sqlite3.connect(index.path, isolation_level=None)
    hog.execute("BEGIN IMMEDIATE")
    with pytest.raises(IndexUnavailable, match="again later"):
        await index.check()
    hog.execute("ROLLBACK")
    hog.close()
    assert await index.check() == []
    await index.aclose()


async def test_a_large_store_answers_before_its_arrays_stand(tmp_path: Path, memory: Make) -> None:
    """Full text finds the candidates, the same scorer ranks them, and the arrays agree afterwards."""
    path = tmp_path / "index.db"
    filling = SqliteIndex(path, StaticEmbedder())
    await filling.put([memory(f"The user keeps box {n} on shelf {n % 50}.") for n in range(2500)])
    await filling.put([memory("The user's dog is called Biscuit.")])
    await filling.aclose()
    index = SqliteIndex(path, StaticEmbedder())
    before = [hit.memory.id for hit in (await index.search("what's my dog Biscuit called")).hits]
    await index.ready()
    after = [hit.memory.id for hit in (await index.search("what's my dog Biscuit called")).hits]
    assert before[0] == after[0]
    await index.aclose()


async def test_a_large_import_by_another_process_is_found(tmp_path: Path, memory: Make) -> None:
    """Too much to take in before a question: full text answers it, and the arrays follow."""
    path = tmp_path / "index.db"
    one, other = (SqliteIndex(path, StaticEmbedder()) for _ in range(2))
    assert (await one.search("box 2999")).hits == ()
    await other.put([memory(f"The user keeps box {n} on the shelf.") for n in range(3000)])
    assert (await one.search("box 2999")).hits[0].memory.text == "The user keeps box 2999 on the shelf."
    await one.ready()
    await other.put([memory("The user's dog is called Biscuit.")])
    assert (await one.search("Biscuit")).hits[0].memory.text == "The user's dog is called Biscuit."
    assert (await one.search("box 17")).hits[0].memory.text == "The user keeps box 17 on the shelf."
    await one.aclose()
    await other.aclose()


async def test_an_index_of_the_version_before_goes_on(tmp_path: Path, memory: Make) -> None:
    """It is brought up to date in place: nobody has to know."""
    path = tmp_path / "index.db"
    first = SqliteIndex(path, StaticEmbedder())
    await first.put([memory("The user's dog is called Biscuit.")])
    await first.aclose()
    db = sqlite3.connect(path)
    db.executescript(
        "DROP TABLE vectors; CREATE TABLE vectors (slot INTEGER NOT NULL, embedder TEXT NOT NULL, vector BLOB NOT NULL,"
        " PRIMARY KEY (slot, embedder)) WITHOUT ROWID; ALTER TABLE memories DROP COLUMN marks;"
        "DELETE FROM meta WHERE key = 'analysis'; UPDATE memories SET terms = 'old'; PRAGMA user_version = 1;"
    )
    db.close()
    second = SqliteIndex(path, StaticEmbedder(), maintain=True)
    await second.start()
    for _ in range(100):
        if (await second.stats())["vectors_lacking"] == 0:
            break
        await asyncio.sleep(0.05)
    assert len((await second.search("what is my dog called")).hits) == 1
    assert await second.check() == []
    await second.aclose()
