"""Several processes on one log and one index, as gateway, writer and command line are."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from haru.chatlog import ChatLogReader, Problem, Turn
from haru.embed.static import StaticEmbedder
from haru.errors import IndexUnavailable
from haru.index.sqlite import SqliteIndex
from haru.memory import Memory
from haru.recall.desk import RecallSettings
from haru.recall.sessions import Sessions

Make = Callable[..., Memory]
LATEST_S = 0.6

GATEWAY = """
import asyncio, pathlib, sys
from datetime import UTC, datetime
from haru.chatlog import ChatLog, Turn

async def main():
    log = ChatLog(pathlib.Path(sys.argv[1]), sync=False)
    for n in range(2000):
        said = f"{sys.argv[2]} {n} " + "x" * 5000
        await log.append(Turn(session="s-" + sys.argv[2], at=datetime.now(UTC), said=said))
    await log.aclose()
asyncio.run(main())
"""

WRITER = """
import asyncio, pathlib, sys
from datetime import UTC, datetime
from haru.embed.static import StaticEmbedder
from haru.index.sqlite import SqliteIndex
from haru.memory import Memory

async def main():
    index = SqliteIndex(pathlib.Path(sys.argv[1]), StaticEmbedder())
    now = datetime.now(UTC)
    n = 0
    while True:
        group = [
            Memory(id=f"mem-{n}-{part}", text=f"The user keeps item {n} part {part}.", created_at=now, updated_at=now)
            for part in "abc"
        ]
        await index.put(group)
        n += 1
        print(n, flush=True)
        await asyncio.sleep(0.02)
asyncio.run(main())
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def test_two_gateways_on_one_log(tmp_path: Path) -> None:
    """Two processes that append at once once ruined each other's lines."""
    processes = [start(GATEWAY, tmp_path, name) for name in ("one", "two")]
    for process in processes:
        process.communicate(timeout=100)
    read = [record for _, record in ChatLogReader(tmp_path).poll()]
    assert not [record for record in read if isinstance(record, Problem)]
    said = [record.said.split(" x")[0] for record in read if isinstance(record, Turn)]
    assert sorted(said) == sorted(f"{name} {n}" for name in ("one", "two") for n in range(2000))
    for name in ("one", "two"):
        assert [each for each in said if each.startswith(name)] == [f"{name} {n}" for n in range(2000)]


async def test_reading_while_another_process_writes(tmp_path: Path) -> None:
    """No error, no wait, and what is committed is found by the next search."""
    path = tmp_path / "index.db"
    index = SqliteIndex(path, StaticEmbedder())
    await index.search("warm up")
    writer = start(WRITER, path)
    assert writer.stdout
    try:
        worst = 0.0
        for _ in range(40):
            count = int(await asyncio.to_thread(writer.stdout.readline))
            began = time.perf_counter()
            found = (await index.search(f"item {count - 1} part", size=50)).hits
            worst = max(worst, time.perf_counter() - began)
            assert {f"The user keeps item {count - 1} part {part}." for part in "abc"} <= {
                hit.memory.text for hit in found
            }
    finally:
        writer.kill()
        writer.communicate()
    assert worst < LATEST_S
    await index.aclose()


@pytest.mark.parametrize("after_s", [0.3, 0.37, 0.45, 0.6])
async def test_killed_in_the_middle_of_writing(tmp_path: Path, after_s: float) -> None:
    """The file is sound, and each put is there as a whole or not at all."""
    path = tmp_path / "index.db"
    writer = start(WRITER, path)
    assert writer.stdout
    writer.stdout.readline()
    await asyncio.sleep(after_s)
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    index = SqliteIndex(path, StaticEmbedder())
    assert await index.check() == []
    ids = [memory.id for memory in (await index.page(limit=10_000)).memories]
    groups = {key.rsplit("-", 1)[0] for key in ids}
    assert sorted(ids) == sorted(f"{group}-{part}" for group in groups for part in "abc")
    await index.aclose()


async def test_a_third_one_holds_the_write_lock(tmp_path: Path, memory: Make) -> None:
    """Recalls don't notice; a write waits as long as it may, then says so; afterwards all of it is done."""
    path = tmp_path / "index.db"
    index = SqliteIndex(path, StaticEmbedder(), busy_timeout_s=1.0)
    await index.put([memory("The user's dog is called Biscuit.")])
    sessions = Sessions(index, StaticEmbedder(), RecallSettings())
    session = sessions.open()
    await session.recall("warm up, dog")
    hog = sqlite3.connect(path, isolation_level=None)
    hog.execute("BEGIN IMMEDIATE")
    hog.execute("UPDATE meta SET value = value")
    writes = [asyncio.create_task(index.put([memory(f"The user has thing {n}.")])) for n in range(3)]
    for _ in range(10):
        began = time.perf_counter()
        recollection = await session.recall("what's my dog called")
        assert time.perf_counter() - began < LATEST_S
        assert recollection.receipt.outcome == "search"
        await asyncio.sleep(0.05)
    failed = await asyncio.gather(*writes, return_exceptions=True)
    assert all(isinstance(each, IndexUnavailable) for each in failed)
    hog.execute("ROLLBACK")
    hog.close()
    for n in range(3):
        await index.put([memory(f"The user has thing {n}.")])
    assert len((await index.page()).memories) == 4
    await sessions.aclose()
    await index.aclose()


async def test_a_short_lock_is_waited_out(tmp_path: Path, memory: Make) -> None:
    """Everything is applied, once."""
    path = tmp_path / "index.db"
    index = SqliteIndex(path, StaticEmbedder())
    await index.put([memory("The user's dog is called Biscuit.")])
    hog = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    hog.execute("BEGIN IMMEDIATE")
    writes = [asyncio.create_task(index.put([memory(f"The user has thing {n}.")])) for n in range(5)]
    await asyncio.sleep(1.0)
    assert not any(write.done() for write in writes)
    await asyncio.to_thread(hog.execute, "ROLLBACK")
    await asyncio.gather(*writes)
    hog.close()
    assert len((await index.page()).memories) == 6
    await index.aclose()


def test_a_full_disk_harms_nothing(tmp_path: Path) -> None:
    """The disk takes the first bytes of a record and then refuses: none of them stay, and the next one stands alone."""
    code = """
import asyncio, pathlib, resource, signal, sys
from datetime import UTC, datetime
from haru.chatlog import ChatLog, Turn
from haru.errors import LogUnwritable

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a limit on file size fails like a full disk

async def main():
    log = ChatLog(pathlib.Path(sys.argv[1]), now=lambda: datetime(2026, 12, 1, tzinfo=UTC))
    def turn(n):
        return Turn(id=f"t-{n}", session="s-1", at=datetime(2026, 12, 1, tzinfo=UTC), said=f"turn {n}")
    await log.append(turn(0))
    (path,) = pathlib.Path(sys.argv[1]).glob("chat-*")
    size = path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40, hard))
    refused = 0
    for n in range(1, 6):
        try:
            await log.append(turn(n))
        except LogUnwritable:
            refused += 1
    assert path.stat().st_size == size, "half a record was left behind"
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await log.append(turn(6))
    await log.aclose()
    print(refused)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "5"
    assert "No space" in done.stderr or "File too large" in done.stderr
    said = [record.said for _, record in ChatLogReader(tmp_path).poll() if isinstance(record, Turn)]
    assert said == [f"turn {n}" for n in range(7)]


def test_a_log_of_ten_thousand_turns_does_not_grow_the_writer(tmp_path: Path) -> None:
    """It keeps ids and places, not words: from a fifth of the log to the end it takes little more."""
    code = """
import asyncio, pathlib, sys
from datetime import UTC, datetime, timedelta
from haru.bench.figures import resident_mib
from haru.chatlog import Turn
from haru.index.inprocess import InProcessIndex
from haru.journal import Journal
from haru.lines import LineFile
from haru.writer.batch import Proposal
from haru.writer.worker import Writer

seen = []

class Watching:
    id = "watching"
    async def extract(self, batch):
        seen.append(resident_mib())
        return Proposal()

async def main():
    home = pathlib.Path(sys.argv[1])
    at = datetime(2026, 11, 1, tzinfo=UTC)
    for s in range(500):
        turns = [
            Turn(session=f"s-{s}", at=at + timedelta(minutes=n), said=f"thing {s} {n} " + "word " * 60, reply="ok")
            for n in range(20)
        ]
        file = LineFile(home / "log" / f"chat-2026-11-{1 + s % 28:02}.jsonl", sync=False)
        file.append([turn.model_dump_json().encode() for turn in turns])
    writer = Writer(home / "log", Journal(home / "journal.jsonl", sync=False), InProcessIndex(), Watching())
    outcomes = await writer.once()
    print(sum(each.turns for each in outcomes), seen[100], seen[-1])
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    turns, early_mib, late_mib = (float(each) for each in done.stdout.split())
    assert turns == 10_000
    assert late_mib - early_mib < 12


def test_a_new_writer_takes_over_at_once(tmp_path: Path) -> None:
    """After a hard kill nobody has to remove a lock file."""
    code = """
import pathlib, sys, time
from haru.writer.worker import alone
with alone(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""
    lock = tmp_path / "writer.lock"
    first = start(code, lock)
    assert first.stdout
    assert first.stdout.readline() == "held\n"
    second = subprocess.run([sys.executable, "-c", code, str(lock)], capture_output=True, text=True, check=False)
    assert second.returncode != 0
    assert "another writer is at work" in second.stderr
    first.kill()
    first.communicate()
    third = start(code, lock)
    assert third.stdout
    assert third.stdout.readline() == "held\n"
    third.kill()
    third.communicate()
