"""The measures of quality, on a few made-up data in the form that they read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from haru.bench import fallback, precision, quality
from haru.bench.scorer import Scorer, documents
from haru.embed.static import StaticEmbedder
from haru.errors import HaruError
from haru.memory import Memory

EMBEDDER = StaticEmbedder()
SAID = ("Ana: My dog is called Biscuit.", "Ben: I play the cello.", "Ana: We moved to Lisbon.", "Ben: My car is red.")


def belief(key: str, content: str, **fields: Any) -> dict[str, Any]:
    return {
        "_id": key,
        "user_id": "test-user",
        "type": "entity",
        "canonical_name": key,
        "aliases": [],
        "content": content,
        "scope": ["home"],
        "pinned": False,
        "resolved_at": None,
        "superseded_by": None,
        **fields,
    }


def case(query: str, *wanted: str, **expect: Any) -> dict[str, Any]:
    return {
        "query": query,
        "scope": ["home"],
        "expect": {"relevantBeliefs": {"shouldOnlyInclude": [*wanted], **expect}},
    }


def fixtures(folder: Path, beliefs: list[dict[str, Any]], cases: list[dict[str, Any]]) -> Path:
    (folder / precision.BELIEFS).write_text(json.dumps(beliefs))
    (folder / precision.CASES).write_text(json.dumps(cases))
    return folder


def test_precision_and_recall_are_means_over_cases(tmp_path: Path) -> None:
    """A case that wants nothing and gets nothing counts for neither; one that gets something is all wrong."""
    kept = [belief("dog", "The dog is called Biscuit."), belief("cello", "Ben plays the cello.")]
    folder = fixtures(
        tmp_path,
        kept,
        [
            case("what is the dog called", "dog"),
            case("who plays the cello", "dog"),
            case("quarterly tax return"),
            {"query": "the dog", "scope": ["home"], "expect": {"relevantBeliefs": {"mustExclude": ["dog"]}}},
        ],
    )
    found = precision.measure(folder, "light", EMBEDDER)
    assert (found["mean_precision"], found["mean_recall"]) == (pytest.approx(1 / 3, abs=1e-3), 0.5)
    assert (found["cases"], found["passed"]) == (4, 2)


def test_what_is_over_or_somebody_elses_is_not_searched(tmp_path: Path) -> None:
    """Nor what stands in every prompt anyway; who is named by a relation comes with it."""
    kept = [
        belief("old", "The dog is called Rex.", superseded_by="dog"),
        belief("done", "The dog needs a name.", resolved_at="2026-01-01"),
        belief("other", "The dog is called Luna.", user_id="somebody"),
        belief("work", "The dog project is called Hound.", scope=["work"]),
        belief("pinned", "The dog must not eat grapes.", pinned=True),
        belief("walks", "Ben walks the dog Biscuit.", type="relation", participants=["ben"]),
        belief("ben", "A neighbour with a red car."),
    ]
    found = precision.measure(fixtures(tmp_path, kept, [case("who walks the dog", "walks", "ben")]), "light", EMBEDDER)
    assert (found["mean_precision"], found["mean_recall"], found["passed"]) == (1.0, 1.0, 1)


@pytest.mark.parametrize("text", ["", "{}", '[{"_id": "x"}]'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    """With what they are not."""
    (tmp_path / precision.BELIEFS).write_text(text)
    (tmp_path / precision.CASES).write_text(json.dumps([case("who")]))
    with pytest.raises(HaruError, match="fixtures of PrecisionMemBench"):
        precision.measure(tmp_path, "light", EMBEDDER)


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    """Three conversations in LoCoMo's form."""
    turns = [{"speaker": text[:3], "dia_id": f"D1:{n}", "text": text[5:]} for n, text in enumerate(SAID)]
    sample = {
        "conversation": {
            "speaker_a": "Ana", "speaker_b": "Ben", "session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023",
        },
        "observation": {"session_1_observation": {"all": [[text, f"D1:{n}"] for n, text in enumerate(SAID)]}},
        "qa": [
            {"question": "What is Ana's dog called?", "evidence": ["D1:0"], "category": 1},
            {"question": "Who plays the cello?", "evidence": ["D1:1"], "category": 4},
        ],
    }  # fmt: skip
    file = tmp_path / "locomo10.json"
    file.write_text(json.dumps([sample] * 3))
    return file


async def test_the_fallback_loses_nothing_here(locomo: Path) -> None:
    """Whether the index answers or hangs; and a loss is told."""
    rows = await fallback.measure(locomo, "light", EMBEDDER)
    assert [row["answered"] for row in rows] == list(fallback.ANSWERED)
    assert {row["recall@10"] for row in rows} == {1.0}
    assert fallback.missed(rows) == []
    assert len(fallback.missed([*rows[:-1], {**rows[-1], "recall@10": 0.9}])) == 1


def test_quality_reads_all_that_is_given(locomo: Path) -> None:
    """Every sort and form, all conversations and those held out, and the goals are judged."""
    result = quality.run(locomo, None, {"light": EMBEDDER}, told=lambda _: None)
    ours = [row for row in result["locomo"] if row["engine"] == "haru, light"]
    assert {(row["sort"], row["fields"], row["form"], row["conversations"]) for row in ours} == {
        (sort, told, form, among)
        for sort in ("observations", "turns")
        for told in ("text alone", "dates and persons")
        for form in ("typed", "spoken")
        for among in ("all", "held out")
    }
    assert {row["recall@10"] for row in ours} == {1.0}
    assert [each for each in quality.missed(result) if each.startswith("LoCoMo")] == []
    ours[0]["recall@10"] = 0.1
    assert any("0.1, not" in each for each in quality.missed(result))


def test_without_the_floor_every_place_is_filled(memory: Any) -> None:
    """With it, a question that nothing answers brings nothing."""
    kept: list[Memory] = [memory(text) for text in SAID]
    for floor, brought in ((False, True), (True, False)):
        scorer = Scorer(EMBEDDER, documents(kept, EMBEDDER), floor=floor)
        assert bool(scorer("which mountain did my grandmother climb")) is brought
        assert scorer("hey haru, um") == []
