"""Engines: Haru and what people would use in its place, each behind the same few calls.

All get the sentences alone, and the dense ones the same vectors. A peer is imported when it is used, and is kept from
the network: it reports nothing home and downloads no model, so that mem0 runs without its keyword half.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from haru.bench.figures import RESULTS
from haru.embed.static import StaticEmbedder
from haru.index.sqlite import SqliteIndex
from haru.memory import Memory
from haru.ports import Embedder, Vectors

SIZE = 10
"""Texts that a search brings, at most."""
MODELS = RESULTS / "models"
"""Where MiniLM is kept in the form that runs fast."""
_PUT_AT_A_TIME = 2000
_MOMENT = datetime(2026, 12, 1, tzinfo=UTC)
"""Of every memory: equal for all, so that dates tell nothing between them."""
_NO_NETWORK = {"MEM0_TELEMETRY": "False", "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

Encode = Callable[[str], Vectors]
"""The vector of one text, shape (dim,)."""


class Engine(Protocol):
    """A store of texts that can be searched. Texts are numbered from 0 in the order in which they come."""

    def add(self, texts: Sequence[str]) -> None:
        """Take texts in. Done means that the next search finds them."""
        ...

    def search(self, question: str) -> list[int]:
        """Numbers of the best texts, best first; the texts themselves are fetched too."""
        ...

    def close(self) -> None:
        """Let go of files and threads."""
        ...


class Haru:
    """Haru's embedded index, of memories that hold a sentence and nothing else."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._index = SqliteIndex(folder / "index.db", embedder)
        self._loop = asyncio.new_event_loop()
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """See `Engine.add`."""
        memories = [
            Memory(id=str(number), text=text, created_at=_MOMENT, updated_at=_MOMENT)
            for number, text in enumerate(texts, start=self._count)
        ]
        self._count += len(texts)
        for at in range(0, len(memories), _PUT_AT_A_TIME):
            self._loop.run_until_complete(self._index.put(memories[at : at + _PUT_AT_A_TIME]))
        self._loop.run_until_complete(self._index.ready())

    def search(self, question: str) -> list[int]:
        """See `Engine.search`."""
        found = self._loop.run_until_complete(self._index.search(question, size=SIZE))
        return [int(hit.memory.id) for hit in found.hits]

    def close(self) -> None:
        """See `Engine.close`."""
        self._loop.run_until_complete(self._index.aclose())
        self._loop.close()


class Mem0:
    """mem0 with its default store, Qdrant on disk, and without a language model."""

    def __init__(self, encode: Encode, folder: Path) -> None:
        os.environ["MEM0_DIR"] = str(folder)
        no_service = {"provider": "openai", "config": {"api_key": "none"}}  # made, and never called
        store = {"collection_name": "texts", "path": str(folder / "qdrant"), "embedding_model_dims": _dim(encode)}
        self._memory = _peer("mem0").Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": no_service,
                "llm": no_service,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Mem0Embedding(encode)
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """See `Engine.add`."""
        for text in texts:
            self._memory.add(text, user_id="household", metadata={"number": self._count}, infer=False)
            self._count += 1

    def search(self, question: str) -> list[int]:
        """See `Engine.search`."""
        found = self._memory.search(question, filters={"user_id": "household"}, top_k=SIZE, threshold=0.0)
        return [each["metadata"]["number"] for each in found["results"]]

    def close(self) -> None:
        """See `Engine.close`."""
        self._memory.close()
        self._memory.vector_store.client.close()


class _Mem0Embedding:
    """Vectors in the form in which mem0 asks for them."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0's call
        return self._encode(text).tolist()

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]


class LangGraph:
    """LangGraph's store in memory with an index, which LangMem searches too."""

    def __init__(self, encode: Encode, _: Path) -> None:
        def embed(texts: Sequence[str]) -> list[list[float]]:
            return [encode(text).tolist() for text in texts]

        index = {"dims": _dim(encode), "embed": embed, "fields": ["text"]}
        self._store = _peer("langgraph.store.memory").InMemoryStore(index=index)
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """See `Engine.add`."""
        for text in texts:
            self._store.put(("household",), str(self._count), {"text": text})
            self._count += 1

    def search(self, question: str) -> list[int]:
        """See `Engine.search`."""
        return [int(item.key) for item in self._store.search(("household",), query=question, limit=SIZE)]

    def close(self) -> None:
        """See `Engine.close`."""


class Txtai:
    """txtai's embeddings database over Faiss; ``hybrid`` adds its BM25."""

    def __init__(self, encode: Encode, *, hybrid: bool) -> None:
        def transform(texts: Sequence[str]) -> Vectors:
            return np.stack([encode(text) for text in texts])

        self._database = _peer("txtai").Embeddings(
            method="external", transform=transform, content=True, hybrid=hybrid, backend="faiss"
        )
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """See `Engine.add`."""
        self._database.upsert([(number, text, None) for number, text in enumerate(texts, start=self._count)])
        self._count += len(texts)

    def search(self, question: str) -> list[int]:
        """See `Engine.search`."""
        return [int(each["id"]) for each in self._database.search(question, SIZE)]

    def close(self) -> None:
        """See `Engine.close`."""
        self._database.close()


class FullText:
    """SQLite's FTS5 with BM25 and the Porter stemmer, for texts that hold any word of the question."""

    def __init__(self, _: Encode, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "texts.db")
        self._db.execute("CREATE VIRTUAL TABLE texts USING fts5 (body, tokenize = 'porter unicode61')")
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """See `Engine.add`."""
        rows = enumerate(texts, start=self._count)
        with self._db:
            self._db.executemany("INSERT INTO texts (rowid, body) VALUES (?, ?)", rows)
        self._count += len(texts)

    def search(self, question: str) -> list[int]:
        """See `Engine.search`."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        sql = "SELECT rowid, body FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?"
        return [number for number, _ in self._db.execute(sql, [words, SIZE])] if words else []

    def close(self) -> None:
        """See `Engine.close`."""
        self._db.close()


class Scan:
    """All vectors in one array, compared one by one."""

    def __init__(self, encode: Encode, _: Path) -> None:
        self._encode = encode
        self._vectors = np.empty((0, _dim(encode)), np.float32)

    def add(self, texts: Sequence[str]) -> None:
        """See `Engine.add`."""
        self._vectors = np.concatenate([self._vectors, [self._encode(text) for text in texts]], dtype=np.float32)

    def search(self, question: str) -> list[int]:
        """See `Engine.search`."""
        cosine = self._vectors @ self._encode(question)
        best = np.argpartition(-cosine, SIZE)[:SIZE] if len(cosine) > SIZE else np.arange(len(cosine))
        return best[np.argsort(-cosine[best])].tolist()

    def close(self) -> None:
        """See `Engine.close`."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine that may be chosen, by name."""

    name: str
    build: Callable[[Encode, Path], Engine]
    packages: Mapping[str, str] = field(default_factory=dict[str, str])
    """By module that is needed, the package that brings it."""
    dense: bool = False
    """It searches by the vectors that it is given."""
    peer: bool = False
    """A product of its own; what is neither peer nor Haru is a floor, and judges nothing."""

    def missing(self) -> str | None:
        """The command that installs what is lacking, if anything is."""
        lacking = [package for module, package in self.packages.items() if not find_spec(module)]
        return f"pip install {' '.join(lacking)}" if lacking else None


def _full(_: Encode, folder: Path) -> Engine:
    from haru.embed.minilm import MiniLmEmbedder

    return Haru(MiniLmEmbedder(cache_dir=MODELS), folder)


_TXTAI = {"txtai": "txtai", "faiss": "faiss-cpu"}
CHOICES = (
    Choice("haru-light", lambda _, folder: Haru(StaticEmbedder(), folder)),
    Choice("haru-full", _full),
    Choice("mem0", Mem0, {"mem0": "mem0ai"}, dense=True, peer=True),
    Choice("langgraph", LangGraph, {"langgraph": "langgraph"}, dense=True, peer=True),
    Choice("txtai-hybrid", lambda encode, _: Txtai(encode, hybrid=True), _TXTAI, dense=True, peer=True),
    Choice("txtai-dense", lambda encode, _: Txtai(encode, hybrid=False), _TXTAI, dense=True, peer=True),
    Choice("fts5", FullText),
    Choice("vectors", Scan, dense=True),
)


def _peer(module: str) -> Any:
    os.environ.update(_NO_NETWORK)
    return import_module(module)


def _dim(encode: Encode) -> int:
    return len(encode("a"))
