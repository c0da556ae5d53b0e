"""The benchmarks themselves, in small: what they count, and the goals that are not of time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from haru.bench import deadline, figures, household, page, recall, service
from haru.errors import HaruError
from haru.testing.postgres import database


async def test_the_deadline_bench_counts_what_it_says(tmp_path: Path) -> None:
    """Turns, exceptions, leaks and open calls, with the index at work, hanging, and breaking its promises."""
    result = await deadline.run(10, deadline.chosen(["fast", "hung", "foreign"]), told=lambda _: None)
    faults = result["faults"]
    for name in ("fast", "hung", "foreign"):
        assert faults[name]["turns"] >= 10
        for key in ("exceptions", "leaked_tasks", "leaked_threads", "open_calls"):
            assert faults[name][key] == 0, (name, key)
    assert "search" in faults["fast"]["outcomes"]
    assert "cache" in faults["hung"]["outcomes"], "the fallback had nothing to rank"
    assert faults["store_down_for_good"]["first_turn_without_wait"] <= 4
    figures.write("deadline", result, tmp_path / "deadline.json")
    assert "| hung |" in page.page(tmp_path)


async def test_the_recall_bench_meets_its_writer() -> None:
    """Every turn is answered by the search, beside the engines that it is compared with."""
    result = await recall.run([200], 20, writing=True, told=lambda _: None)
    ours, *peers = result["rows"]
    assert ours["engine"] == "haru"
    assert ours["answered_by_search"] == 1.0
    assert {row["engine"] for row in peers} == {"plain FTS5, BM25", "vector scan", "word overlap in Python"}
    json.dumps(result)


async def test_the_service_bench_compares_with_the_embedded_index(postgres: str, tmp_path: Path) -> None:
    """Every search is counted, and both find the same."""
    result = await service.run(database(postgres), 3, 60, 20, told=lambda _: None)
    assert result["recall"]["postgres"] == result["recall"]["embedded"] > 0.8
    assert result["alone_ms"]["max"] > 0
    assert service.missed({**result, "steady_ms": {"p99": 80.0}}) != []
    figures.write("service", result, tmp_path / "service.json")
    assert "Many households" in page.page(tmp_path)


def test_a_missed_goal_is_told() -> None:
    """In words that name the fault, the figure and the goal."""
    bad = {
        "overshoot_p99_ms": 12.0,
        "overshoot_max_ms": 20.0,
        "exceptions": 1,
        "leaked_tasks": 0,
        "leaked_threads": 0,
        "open_calls": 0,
    }
    told = deadline.missed(
        {"faults": {"hung": bad, "store_down_for_good": {"first_turn_without_wait": 5, "recovery_s": 6.0}}}
    )
    assert len(told) == 4
    assert any("hung: overshoot_p99_ms is 12.0" in each for each in told)


def test_an_unknown_fault_is_an_error() -> None:
    """Never an empty run."""
    with pytest.raises(HaruError, match="known are"):
        deadline.chosen(["tired"])


def test_the_household_is_the_same_every_time() -> None:
    """Figures of two days can be compared."""
    assert household.memories(20) == household.memories(20)
    assert len({memory.id for memory in household.memories(500)}) == 500


def test_percentiles() -> None:
    """Of nothing, and of something."""
    assert figures.summary([]) == {"p50": 0.0, "p95": 0.0, "p99": 0.0, "max": 0.0}
    assert figures.summary([1.0, 2.0, 3.0])["p50"] == 2.0
