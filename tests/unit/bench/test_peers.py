"""Haru beside its peers: what every engine owes, what a run tells of one that is not there, and the goals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from haru.bench import engines, figures, page, peers
from haru.bench.engines import CHOICES, Choice, Engine
from haru.embed.static import StaticEmbedder
from haru.errors import HaruError
from haru.ports import Vectors

THINGS = ("kayak", "cello", "tent", "drill")
TEXTS = [f"{name} keeps a {thing} in the cellar." for name in ("Ana", "Ben", "Milo") for thing in THINGS]
ABSENT = Choice("absent", engines.FullText, {"haru_has_no_such_module": "no-such-package"}, dense=True, peer=True)


def encode(text: str) -> Vectors:
    return StaticEmbedder().embed([text], "query")[0]


def choice(name: str) -> Choice:
    return next(each for each in CHOICES if each.name == name)


@pytest.fixture(params=["haru-light", "fts5", "vectors"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    built = choice(request.param).build(encode, tmp_path)
    yield built
    built.close()


def test_an_engine_finds_a_text_by_its_number(engine: Engine) -> None:
    engine.add(TEXTS)
    found = engine.search("Who has a kayak: Milo?")
    assert TEXTS[found[0]] == "Milo keeps a kayak in the cellar."
    assert len(found) == len(set(found)) <= engines.SIZE


def test_what_was_added_is_found_by_the_next_search(engine: Engine) -> None:
    engine.add(TEXTS)
    assert len(TEXTS) not in engine.search("trombone")
    engine.add(["Vera polishes her trombone."])
    assert engine.search("trombone")[0] == len(TEXTS)


def test_an_engine_takes_any_question(engine: Engine) -> None:
    engine.add(TEXTS[:1])
    for question in ('"', "AND OR NOT", "the kayak's (tent*", "café 寝室"):
        assert set(engine.search(question)) <= {0}


def test_a_peer_that_is_not_there_is_told_and_fails_nothing(tmp_path: Path) -> None:
    """With the command that installs it, in the result, in the tables, and among what was not judged."""
    data = tmp_path / "locomo.json"
    data.write_text(json.dumps([CONVERSATION]))
    chosen = [choice("haru-light"), choice("fts5"), ABSENT]
    result = peers.run(data, [50], chosen, told=lambda _: None)
    assert [row.get("not_installed") for row in result["speed"]] == [None, None, "pip install no-such-package"]
    light, fts5, _ = (row for row in result["quality"] if row["sort"] == "turns")
    assert light["questions"] == 1
    assert light["mrr"] == light["recall@5"] == fts5["recall@10"] == 1.0
    assert peers.missed(result) == []
    assert peers.unjudged(result) == ["50 memories: no peer was measured beside haru-light"]
    figures.write("peers", result, tmp_path / "peers.json")
    assert "| 50 | absent | not installed: pip install no-such-package |" in page.page(tmp_path)


def test_an_unknown_engine_is_an_error() -> None:
    with pytest.raises(HaruError, match="known are haru-light"):
        peers.chosen(["elephant"])


def test_haru_is_always_among_the_chosen() -> None:
    """The ratios are to its two levels."""
    assert [each.name for each in peers.chosen(["fts5"])] == ["haru-light", "haru-full", "fts5"]
    assert peers.chosen([]) == list(CHOICES)


def rows(memories: int, **medians: float) -> list[peers.Row]:
    found = [{"engine": name.replace("_", "-"), "cpu_ms": {"p50": median}} for name, median in medians.items()]
    return [{"memories": memories, **row} for row in peers.with_ratios(found)]


def test_ratios_are_to_both_levels() -> None:
    light, full, mem0 = rows(1000, haru_light=0.5, haru_full=2.0, mem0=10.0)
    assert (mem0["times_light"], mem0["times_full"]) == (20.0, 5.0)
    assert (light["times_light"], full["times_light"]) == (1.0, 4.0)


@pytest.mark.parametrize(
    ("speed", "missed", "unjudged"),
    [
        (rows(10_000, haru_light=1.0, mem0=15.0, langgraph=9.0), [], []),
        (rows(10_000, haru_light=1.0, mem0=14.9), ["mem0 takes 14.9 times as long as haru-light, not 15"], []),
        (rows(10_000, haru_light=1.0, langgraph=9.0), [], ["mem0 was not measured"]),
        (rows(1000, haru_light=1.0, mem0=2.0), [], []),
        (rows(1000, haru_light=3.0, mem0=8.0, langgraph=2.5), ["3.0 ms at the median, langgraph 2.5"], []),
        (rows(1000, haru_light=3.0, fts5=0.1, vectors=0.1, haru_full=1.0), [], ["no peer was measured"]),
    ],
)  # fmt: skip
def test_goals(speed: list[peers.Row], missed: list[str], unjudged: list[str]) -> None:
    """The fastest peer at every size, mem0 at ten thousand; floors judge nothing."""
    for judge, wanted in ((peers.missed, missed), (peers.unjudged, unjudged)):
        told = judge({"speed": speed})
        assert len(told) == len(wanted)
        assert all(part in line for part, line in zip(wanted, told, strict=True))


def test_a_known_text_is_not_encoded_again() -> None:
    """So that passages cost no peer time, and every engine sees the same vectors."""
    vector = encode("kayak")
    encoder = peers.Encoder({"kayak": vector})
    assert encoder("kayak") is vector
    assert encoder.learn(["kayak"]).known["kayak"] is vector


CONVERSATION = {
    "conversation": {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ana", "dia_id": "D1:1", "text": "I bought a red kayak last week."},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "My cello needs new strings."},
        ],
    },
    "observation": {
        "session_1_observation": {
            "Ana": [["Ana bought a red kayak.", "D1:1"]],
            "Ben": [["Ben's cello needs strings.", ["D1:2"]]],
        }
    },
    "qa": [
        {"question": "What did Ana buy?", "evidence": ["D1:1"], "category": 4},
        {"question": "What can nobody know?", "evidence": [], "category": 5},
    ],
}
