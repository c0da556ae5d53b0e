"""`haru bench page`: docs/benchmarks.md out of the kept JSON results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_HEAD = """# Benchmarks

Made by `haru bench page` from the kept results of the other `haru bench` commands. Run them yourself: every figure
below comes with the conditions it was measured under. Wall times on shared machines hold
scheduler slices of some milliseconds that hit everything alike; where CPU time is given, trust it more.
"""

_DEADLINE = """
Recall through a session over an index with each sort of fault; budget 250 ms; the breaker kept from opening. Forty
conversations share one process, each with sessions of its own. `cold` answers nobody for three seconds and then all of
them at the same instant, when half of them fill their caches too: that is more work than one processor does in time.
"""

_DOWN = (
    "With the breaker at work and a store that is down for good, replies wait for nothing from turn "
    "{first_turn_without_wait} on; its return is noticed after {recovery_s} s."
)

_STARTED = (
    "`haru --help`: median {p50:.2f} s, p95 {p95:.2f} s. The light core with 10,000 memories: {core:.0f} MiB resident."
)

_RECALL = """
The wait of a turn through a recall session over the embedded index with the static word table, while another process
writes every 20 ms; the others on the same memories and questions.
"""

_PEERS = """
Each engine in a process of its own, given the sentence alone; the vectors are MiniLM's for all but `haru-light` and
`fts5`. Times are those of a whole search, with the encoding of the question; an addition's wall time is mostly the
disk's. The ratios are of the searches' median CPU time. No peer has a language model or the network: mem0 runs without
its keyword half, which wants a model from there. Above 5,000 memories txtai's vector search is approximate. `fts5`
and `vectors` are floors that store and rank, and do nothing else. What is found: recall of LoCoMo's gold evidence,
store = one conversation; `returned` is the number of memories that a search brings, and Haru rather brings none than
noise.
"""

_QUALITY = """
`light` is the word table that is always there, `full` has MiniLM (extra `semantic`). *Text alone* is what the peers
further down are given, too; *dates and persons* are fields that Haru's memories have and theirs have not. The rows
without a floor fill ten places, as the peers do; what is shipped returns less. Spoken form: filler around the question,
lower case, no punctuation.
"""
_PARTS = {
    "locomo": "LoCoMo, categories 1 to 4: gold evidence, store = one conversation",
    "fallback": "With an index that answers in some turns only (observations, three conversations, as shipped)",
    "unanswerable": "Questions that nothing answers: those of another conversation, with the right names put in",
    "own": "Haru's own sets: other words, the same words, what nobody told, small talk",
    "precision": "PrecisionMemBench, by its authors' rules (published: 0.05 to 0.43 mean precision; its host 1.00)",
}
_LEARN = """
Half of LoCoMo's questions are asked and judged; the other half is asked afterwards and was never asked before.
"""
_DECAY = "What ten uses multiply a score by, so many days after the last one:\n"
_SPEECH = """
150 words a minute, a partial text every 300 ms with one newest word in five misheard, the turn over 300 ms after the
last word. *Found* counts turns whose wanted memory came back.
"""


_SERVICE = """
A search over `index.backend = "postgres"`, analysis and ranking included; server and client share the machine. At a
steady rate requests come whether or not earlier ones are answered, and their time counts from when they were due.
"""
_SERVICE_FOUND = (
    "The wanted memory was found for {postgres:.1%} of {questions} questions; by the embedded index for {embedded:.1%}."
)


def page(results: Path) -> str:
    """The page, with a section for every result that is there."""
    parts = [_HEAD]
    for name, section in _SECTIONS.items():
        file = results / f"{name}.json"
        if file.is_file():
            result = json.loads(file.read_text())
            parts += [section(result), _conditions(result["conditions"])]
    return "\n".join(parts)


def _deadline(result: dict[str, Any]) -> str:
    down = result["faults"]["store_down_for_good"]
    rows = [
        (
            name,
            each["turns"],
            f"{each['waited_p50_ms']:.1f}",
            f"{each['waited_p99_ms']:.1f}",
            f"{each['overshoot_p99_ms']:.1f}",
            f"{each['overshoot_max_ms']:.1f}",
            each["exceptions"],
            each["leaked_tasks"] + each["leaked_threads"],
        )
        for name, each in result["faults"].items()
        if "turns" in each
    ]
    head = ("fault", "turns", "wait p50, ms", "wait p99", "over budget p99", "over budget max", "exceptions", "leaked")
    return "\n".join(
        [
            "## The deadline",
            _DEADLINE,
            _table(head, rows),
            "",
            _DOWN.format(**down),
            "",
            "![Waiting time by fault](images/deadline.png)",
            "",
        ]
    )


def _recall(result: dict[str, Any]) -> str:
    rows = [
        (
            f"{each['memories']:,}",
            each["engine"],
            *(f"{each['wall_ms'][key]:.2f}" for key in ("p50", "p95", "p99", "max")),
            *(f"{each['cpu_ms'][key]:.2f}" for key in ("p50", "p99")),
            f"{each['ready_ms']:.0f}" if "ready_ms" in each else "",
            f"{each['rss_mib']:.0f}" if "rss_mib" in each else "",
        )
        for each in result["rows"]
    ]
    head = (
        "memories",
        "engine",
        "wall p50, ms",
        "p95",
        "p99",
        "max",
        "CPU p50",
        "CPU p99",
        "arrays ready, ms",
        "RSS, MiB",
    )
    return "\n".join(
        [
            "## Recall as the store grows",
            _RECALL,
            _table(head, rows),
            "",
            "![Growth](images/recall.png)",
            "",
        ]
    )


def _start(result: dict[str, Any]) -> str:
    measured = result["figures"]
    return "\n".join(
        [
            "## Start and size",
            "",
            _STARTED.format(core=measured["core_mib_with_10000_memories"], **measured["help_s"]),
            "",
        ]
    )


def _peers(result: dict[str, Any]) -> str:
    from haru.bench import peers

    parts = ["## Beside what else there is", _PEERS]
    for title, head, rows in peers.tables(result):
        parts += [f"### {title}", "", _table(head, rows), ""]
    return "\n".join([*parts, "![Time of a search by engine](images/peers.png)", ""])


def _quality(result: dict[str, Any]) -> str:
    from haru.bench import quality

    parts = ["## What recall finds, and where it says nothing", _QUALITY]
    for part, keys in quality.COLUMNS.items():
        rows = [row for row in result.get(part, ()) if row.get("conversations") != "held out"]
        if rows:
            parts += [f"### {_PARTS[part]}", "", _keyed(keys, rows), ""]
        if held_out := [row for row in result.get(part, ()) if row.get("conversations") == "held out"]:
            parts += ["The same on the conversations that had no part in choosing the weights:", ""]
            parts += [_keyed(keys, [row for row in held_out if row["form"] == "typed"]), ""]
    return "\n".join([*parts, "![What is found, by engine](images/quality.png)", ""])


def _learn(result: dict[str, Any]) -> str:
    keys = ("level", "judged", "questions", "count", "recall@5", "mrr")
    parts = ["## Learning from feedback", _LEARN, _keyed(keys, result["rows"]), "", _DECAY]
    return "\n".join([*parts, _keyed(("days", "factor"), result["decay"]), "", "![MRR](images/learn.png)", ""])


def _speech(result: dict[str, Any]) -> str:
    rows = [
        (
            row["delay_ms"],
            row["turns"],
            f"{row['under_1_ms']:.1%}",
            f"{row['waited_ms']['p50']:.2f}",
            f"{row['waited_ms']['p95']:.1f}",
            f"{row['waited_ms']['p99']:.1f}",
            row["searches_a_turn"],
            row["searches_max"],
            f"{row['found']:.1%}",
            f"{row['found_by_waiting']:.1%}",
        )
        for row in result["rows"]
    ]
    head = (
        "store takes, ms more",
        "turns",
        "wait < 1 ms",
        "wait p50, ms",
        "p95",
        "p99",
        "searches a turn",
        "most",
        "found",
        "found by always waiting",
    )
    parts = ["## Ready before the last word", _SPEECH, _table(head, rows), ""]
    return "\n".join([*parts, "![Turns that wait for nothing](images/speech.png)", ""])


def _service(result: dict[str, Any]) -> str:
    rows = [
        (name, *(f"{result[key][point]:.1f}" for point in ("p50", "p95", "p99", "max")))
        for name, key in (("one client", "alone_ms"), (f"{result['a_second']} searches a second", "steady_ms"))
    ]
    parts = [
        "## Many households in PostgreSQL",
        _SERVICE,
        _table(("asked by", "p50, ms", "p95", "p99", "max"), rows),
        "",
    ]
    parts.append(_SERVICE_FOUND.format(**result["recall"]))
    return "\n".join([*parts, "", "![Time of a search](images/service.png)", ""])


_SECTIONS = {
    "deadline": _deadline,
    "speech": _speech,
    "recall": _recall,
    "quality": _quality,
    "learn": _learn,
    "peers": _peers,
    "service": _service,
    "start": _start,
}


def _keyed(keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    """A table of some values of each row."""
    return _table(
        tuple(key.replace("_", " ") for key in keys), [tuple(row.get(key, "") for key in keys) for row in rows]
    )


def _conditions(conditions: dict[str, Any]) -> str:
    flat = {**conditions, **conditions.get("versions", {})}
    flat.pop("versions", None)
    return "Conditions: " + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in flat.items()) + ".\n"


def _table(head: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])
