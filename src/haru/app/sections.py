"""Sections of the settings: each key with its type, default and meaning. Units stand in the names."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from haru.errors import SettingsError
from haru.recall.prompt import HEADER


class Section(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Keyed(Section):
    """A service that may want a key."""

    key: SecretStr = SecretStr("")
    """Its key, where it wants one."""
    key_file: str = ""
    """A file that holds the key, in its place."""

    def secret(self) -> str:
        """The key, from wherever it comes; empty where none is set.

        Raises:
            SettingsError: the file cannot be read.
        """
        if not self.key_file:
            return self.key.get_secret_value()
        try:
            return Path(self.key_file).expanduser().read_text().strip()
        except (OSError, UnicodeDecodeError):
            raise SettingsError(f"key_file names {self.key_file}, which cannot be read") from None


class Recall(Section):
    """Reading: between the last word and the first."""

    budget_s: float = Field(default=0.25, gt=0, le=5)
    """Longest wait for memories in a turn, in seconds."""
    size: int = Field(default=10, ge=1, le=100)
    """Most memories put into a prompt."""
    preload: int = Field(default=1000, ge=0, le=10_000)
    """Most memories that a session keeps at hand."""
    background_s: float = Field(default=10.0, gt=0, le=60)
    """Total time limit, in seconds, of a search that nobody waits for any more."""


class Conversation(Section):
    """How Haru talks."""

    person: str = Field(default="household", min_length=1, max_length=64)
    """Whose memories these are while voices are not told apart."""
    idle_s: float = Field(default=900.0, gt=0)
    """Silence, in seconds, after which a new session begins."""
    history_turns: int = Field(default=12, ge=0, le=200)
    """Earlier turns of the session that the model reads."""
    max_reply_tokens: int = Field(default=300, ge=1)
    """Longest reply, in tokens."""
    system: str = ""
    """System prompt; empty for Haru's own."""
    memory_header: str = Field(default=HEADER, min_length=1)
    """Line above the memories in the prompt."""
    memory_place: Literal["beside-user", "system-end"] = "beside-user"
    """Where the memories stand: after the newest words, or at the end of the system prompt."""


class Log(Section):
    """The chat log."""

    sync: bool = True
    """Flush every turn to the disk, so that a power cut costs nothing."""


class Index(Keyed):
    """The searchable copy of all memories."""

    backend: Literal["sqlite", "relevan", "postgres", "inprocess"] = "sqlite"
    """A file, a search service, a database, or for a try nothing that outlives the program."""
    url: str = "https://api.relevan.dev"
    """Address of the search service: Relevan's, or of `haru index serve`."""
    database: SecretStr = SecretStr("")
    """Connection string of the database: ``postgresql://haru@localhost/haru``."""
    household: str = Field(default="household", min_length=1, max_length=200)
    """Whose memories these are, in a database of many."""
    organisation: str = ""
    """Whose index it is there; empty where the key belongs to one organisation alone."""
    name: str = "haru-memory"
    """Name of the index there."""
    busy_timeout_s: float = Field(default=5.0, gt=0, le=120)
    """How long a write waits for another process's, in seconds."""


class Embed(Keyed):
    """Meaning as vectors."""

    model: Literal["auto", "static", "minilm", "endpoint", "none"] = "auto"
    """``auto`` is MiniLM where the extra `semantic` is installed, else the static table."""
    path: str = ""
    """An ONNX file to use as the MiniLM model."""
    url: str = ""
    """Base URL of an OpenAI-compatible embeddings service, for ``endpoint``."""
    name: str = ""
    """Model name at that service."""
    query_prefix: str = ""
    """Put before a question; e5 and bge models want one."""
    passage_prefix: str = ""
    """Put before a memory."""


class Llm(Keyed):
    """The language model."""

    url: str = ""
    """Base URL of any OpenAI-compatible service; empty for the embedded model."""
    model: str = ""
    """Name of the model at that service."""
    path: str = ""
    """A GGUF file for the embedded model; empty for SmolLM2-135M."""
    timeout_s: float = Field(default=60.0, gt=0)
    """Longest reply, in seconds."""


class Writer(Section):
    """Writing: minutes later, in a process of its own."""

    extractor: Literal["auto", "model", "rules"] = "auto"
    """``auto`` is the model where one is configured, and the rules where only the embedded one is there."""
    poll_s: float = Field(default=20.0, gt=0)
    """Pause between two looks at the log, in seconds."""
    quiet_s: float = Field(default=120.0, ge=0)
    """Silence after which a session is due, in seconds."""
    due_turns: int = Field(default=20, ge=1, le=200)
    """New turns after which a session is due in any case; also the largest batch."""
    context_turns: int = Field(default=6, ge=0, le=50)
    """Earlier turns shown with a batch."""
    related: int = Field(default=40, ge=0, le=200)
    """Memories shown with a batch."""
    max_operations: int = Field(default=20, ge=1, le=200)
    """Most changes from one batch."""
    prompt_chars: int = Field(default=24_000, ge=4_000)
    """Longest extraction prompt, in characters."""
    timeout_s: float = Field(default=180.0, gt=0)
    """Longest extraction, in seconds."""
