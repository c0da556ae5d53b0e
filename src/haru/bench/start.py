"""`haru bench start`: the start of the command line, and the memory of the light core."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from haru.bench import figures

RUNS = 15
GOAL_HELP_S = 0.3
GOAL_CORE_MIB = 150.0

_CORE = """
import asyncio, pathlib
from typing import Any
from haru.bench import figures, household
from haru.embed.static import StaticEmbedder
from haru.index.sqlite import SqliteIndex
from haru.recall.sessions import Sessions

async def main():
    {fill}
    index = SqliteIndex(pathlib.Path({path!r}), StaticEmbedder())
    {put}
    await index.ready()
    sessions = Sessions(index, StaticEmbedder())
    session = sessions.open()
    session.start()
    for _ in range(20):
        await session.recall("where is the bicycle of Ana in Denver")
        await asyncio.sleep(0.05)
    print(figures.resident_mib())
    await sessions.aclose()
    await index.aclose()
asyncio.run(main())
"""


def run() -> dict[str, Any]:
    """Both, in processes of their own."""
    times: list[float] = []
    for _ in range(RUNS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "haru.app.cli", "--help"], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return {
        "conditions": figures.conditions(runs=RUNS),
        "figures": {"help_s": figures.summary(times), "core_mib_with_10000_memories": _core_mib()},
    }


def _core_mib() -> float:
    """Resident memory of a fresh process that recalls from 10,000 memories that another one wrote."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="haru-bench-") as scratch:
        path = str(Path(scratch) / "index.db")
        write = _CORE.format(fill="kept = household.memories(10_000)", path=path, put="await index.put(kept)")
        read = _CORE.format(fill="", path=path, put="")
        subprocess.run([sys.executable, "-c", write], check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([sys.executable, "-c", read], check=True, capture_output=True, text=True)
    return round(float(done.stdout), 1)


def missed(result: dict[str, Any]) -> list[str]:
    """Which goals were missed, in words."""
    found: list[str] = []
    measured = result["figures"]
    if measured["help_s"]["p50"] >= GOAL_HELP_S:
        found.append(f"haru --help takes {measured['help_s']['p50']} s, not under {GOAL_HELP_S}")
    if measured["core_mib_with_10000_memories"] >= GOAL_CORE_MIB:
        found.append(f"the core takes {measured['core_mib_with_10000_memories']} MiB, not under {GOAL_CORE_MIB}")
    return found
