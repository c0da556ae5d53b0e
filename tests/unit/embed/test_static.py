"""The static table: fast, always there, and silent on what it does not know."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from haru.embed.static import DIM, IDENTITY, StaticEmbedder
from haru.errors import IndexRefused


@pytest.fixture(scope="module")
def static() -> StaticEmbedder:
    """One embedder for all."""
    return StaticEmbedder()


def test_stop_words_add_nothing(static: StaticEmbedder) -> None:
    """A question is the direction of its content words alone."""
    spoken, bare = static.embed(["um so could you tell me about the dog please", "dog"], "query")
    assert np.array_equal(spoken, bare)


@pytest.mark.parametrize("text", ["Wojciechowska", "qzxvbnmrt", "🐶🎉", "the of and", "12345678901"])
def test_what_the_table_does_not_know_is_zeros(static: StaticEmbedder, text: str) -> None:
    """Names and garble fall into many pieces that say nothing: no meaning is better than a wrong one."""
    assert not static.embed([text], "query").any()


@pytest.mark.parametrize(("word", "other"), [("spouse", "wife"), ("physician", "doctor"), ("kid", "child")])
def test_other_words_for_the_same_are_close(static: StaticEmbedder, word: str, other: str) -> None:
    """Single synonyms are nearly one direction."""
    one, two = static.embed([word, other], "query")
    assert one @ two > 0.7


def test_threads_may_share_it() -> None:
    """The first use from several threads at once gives each the same vectors."""
    static = StaticEmbedder()
    texts = ["the dog barks", "a doctor in Porto", "my wife's birthday"]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(static.embed, [texts] * 32, ["query"] * 32))
    assert all(np.array_equal(rows, static.embed(texts, "query")) for rows in found)


def _torn(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 torn")


def _other_kind(path: Path) -> None:
    path.write_bytes(b"not a table")


def _other_version(path: Path) -> None:
    np.savez(path, identity=np.array("static-other-9"), rows=np.zeros((2, DIM), np.int8))


def _other_width(path: Path) -> None:
    np.savez(path, identity=np.array(IDENTITY), rows=np.zeros((2, 3), np.int8))


def _missing(path: Path) -> None:
    path.unlink(missing_ok=True)


@pytest.mark.parametrize("spoil", [_torn, _other_kind, _other_version, _other_width, _missing])
def test_a_table_that_is_not_the_one_expected_is_refused(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """Vectors of another table would be compared with those stored, so there are none; the message says what to do."""
    table = tmp_path / "static.npz"
    spoil(table)
    with pytest.raises(IndexRefused, match="Install Haru again"):
        StaticEmbedder(table).embed(["dog"], "query")


def test_nothing_is_read_before_the_first_use() -> None:
    """Importing the module and making the embedder opens neither the table nor the vocabulary."""
    code = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from haru.embed.static import StaticEmbedder
static = StaticEmbedder()
ours = lambda: sorted(name.rpartition("/")[2] for name in opened if name.endswith((".npz", "vocab.txt")))
print(ours())
static.embed(["dog"], "query")
print(ours())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['static.npz', 'vocab.txt']"]
