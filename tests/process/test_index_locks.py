"""The locks by which several processes share the embedded index."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from haru.index.sqlite import SqliteIndex
from haru.memory import Memory

SHARED_FIRST, SHARED_SIZE = 0x40000002, 510
"""Where SQLite locks a database file that somebody reads."""

TRY = f"""
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, {SHARED_SIZE}, {SHARED_FIRST})
    except OSError:
        sys.exit("locked")
"""


def is_locked(path: Path) -> bool:
    """Whether another process sees the database in use."""
    done = subprocess.run([sys.executable, "-c", TRY, str(path)], capture_output=True, text=True, check=False)
    return done.stderr.strip() == "locked"


async def test_reading_and_writing_in_one_process_keeps_the_file_locked(
    tmp_path: Path, memory: Callable[..., Memory]
) -> None:
    """A process that reads, and then writes too, still holds its lock: without it another process that closes would
    take itself for the last one and remove the write-ahead file under it.
    """
    index = SqliteIndex(tmp_path / "index.db")
    await index.start()
    await index.page()
    assert is_locked(index.path)
    await index.put([memory("Robin plays the cello.")])
    assert is_locked(index.path)
    await index.aclose()
    assert not is_locked(index.path)
