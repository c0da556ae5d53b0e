"""Tombstones, and wiping words out of records: properties that must hold for any text."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from haru.forgotten import Forgotten, encoded, fingerprint, unquoted, without_words
from haru.memory import Evidence, Memory

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
TURN = st.fixed_dictionaries(
    {"kind": st.just("turn"), "said": st.text(max_size=40)},
    optional={
        "reply": st.text(max_size=40),
        "spoken": st.none() | st.text(max_size=20),
        "receipt": st.none() | st.dictionaries(st.sampled_from(["query", "outcome"]), st.text(max_size=20)) | JSON,
        "findings": JSON,
        "other": JSON,
    },
)


@settings(deadline=None)
@given(TURN)
def test_a_wiped_turn_fits_in_its_place(turn: dict[str, object]) -> None:
    """Whatever a turn's record holds, it gets no longer without its words, and is a JSON line still."""
    left = encoded(without_words(turn))
    assert len(left) <= len(encoded(turn))
    assert b"\n" not in left
    wiped = json.loads(left)
    assert wiped["said"] == ""
    assert "findings" not in wiped
    assert not wiped.get("reply")
    if isinstance(turn.get("receipt"), dict):
        assert "query" not in wiped["receipt"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(["knee", "surgery", "boise", "cello", "robin", "ana"]), min_size=1), st.randoms())
def test_a_fingerprint_is_of_the_words_not_their_order(said: list[str], random) -> None:
    """The same words in another order are known again; under another salt the mark is another one."""
    shuffled = random.sample(said, len(said))
    assert fingerprint(" ".join(said), "00") == fingerprint(" ".join(shuffled), "00")
    assert fingerprint(" ".join(said), "00") != fingerprint(" ".join(said), "01")


def memory(key: str, *turns: str) -> Memory:
    """A memory that rests on turns, each with a quote."""
    evidence = tuple(Evidence(session="s-1", turns=(turn,), quote=f"said in {turn}") for turn in turns)
    return Memory(id=key, text="Something.", evidence=evidence, created_at=NOON, updated_at=NOON)


def test_only_quotes_of_shared_turns_go() -> None:
    """Quotes from other turns stay, and a memory with no turn in common is the same."""
    left = unquoted(memory("mem-1", "t-1", "t-2"), memory("mem-2", "t-2", "t-3"))
    assert [each.quote for each in left.evidence] == ["said in t-1", ""]
    apart = memory("mem-3", "t-9")
    assert unquoted(apart, memory("mem-2", "t-2")) is apart


def test_a_torn_tombstone_costs_only_itself(tmp_path: Path) -> None:
    """A line cut off by a power failure is passed over; the others hold, for readers that were open before too."""
    path = tmp_path / "forgotten.jsonl"
    stones = Forgotten(path)
    assert stones.ids() == set()
    Forgotten(path).add(memory("mem-1", "t-1"), NOON)
    with path.open("ab") as file:
        file.write(b'{"id": "mem-2", "sal')
    Forgotten(path).add(memory("mem-3", "t-3"), NOON)
    assert stones.ids() == {"mem-1", "mem-3"}
    assert stones.blocks("Whatever.", turns=["t-3"])
