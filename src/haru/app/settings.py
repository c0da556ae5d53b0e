"""Settings: ``haru.toml`` and ``HARU_*`` variables, typed and checked; a wrong key is an error, never ignored.

Order of say: environment, file, default. A variable is ``HARU_`` + section + ``__`` + key:
``HARU_RECALL__BUDGET_S=0.2``.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from haru.errors import SettingsError
from haru.recall.prompt import HEADER

PREFIX = "HARU_"
CONFIG_VARIABLE = "HARU_CONFIG"
_DELIMITER = "__"


class Section(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


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
    """Where the memories stand: before the newest words, or at the end of the system prompt."""


class Log(Section):
    """The chat log."""

    sync: bool = True
    """Flush every turn to the disk, so that a power cut costs nothing."""


class Index(Section):
    """The searchable copy of all memories."""

    backend: Literal["sqlite", "inprocess"] = "sqlite"
    """Back end: ``sqlite`` keeps one file; ``inprocess`` forgets everything at exit (for trying things out)."""
    busy_timeout_s: float = Field(default=5.0, gt=0, le=120)
    """How long a write waits for another process's, in seconds."""


class Embed(Section):
    """Meaning as vectors."""

    model: Literal["auto", "static", "minilm", "endpoint", "none"] = "auto"
    """``auto`` is MiniLM where the extra `semantic` is installed, else the static table."""
    path: str = ""
    """An ONNX file to use as the MiniLM model."""
    url: str = ""
    """Base URL of an OpenAI-compatible embeddings service, for ``endpoint``."""
    name: str = ""
    """Model name at that service."""
    key: SecretStr = SecretStr("")
    """Its key."""
    query_prefix: str = ""
    """Put before a question; e5 and bge models want one."""
    passage_prefix: str = ""
    """Put before a memory."""


class Llm(Section):
    """The language model."""

    url: str = ""
    """Base URL of any OpenAI-compatible service; empty for the embedded model."""
    model: str = ""
    """Name of the model at that service."""
    key: SecretStr = SecretStr("")
    """Its key, where it wants one."""
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


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=PREFIX,
        env_nested_delimiter=_DELIMITER,
        env_ignore_empty=True,
        use_attribute_docstrings=True,
    )

    home: Path = Field(default_factory=lambda: platformdirs.user_data_path("haru"))
    """Folder of the chat log, the journal and the index."""
    recall: Recall = Recall()
    conversation: Conversation = Conversation()
    log: Log = Log()
    index: Index = Index()
    embed: Embed = Embed()
    llm: Llm = Llm()
    writer: Writer = Writer()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment before file."""
        del init_settings, dotenv_settings, file_secret_settings
        file = found_file()
        return (env_settings, TomlConfigSettingsSource(settings_cls, file)) if file else (env_settings,)


def found_file() -> Path | None:
    """The settings file in force: ``HARU_CONFIG``, ``./haru.toml``, or the user's; ``None`` where there is none.

    Raises:
        SettingsError: ``HARU_CONFIG`` names no file.
    """
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise SettingsError(f"{CONFIG_VARIABLE} names {named}, and there is no such file")
        return Path(named)
    for path in (Path("haru.toml"), platformdirs.user_config_path("haru") / "haru.toml"):
        if path.is_file():
            return path
    return None


def load() -> Settings:
    """The settings in force.

    Raises:
        SettingsError: a key or value is wrong; the message names it, where it stands, and what is right.
    """
    file = found_file()
    try:
        if file:
            tomllib.loads(file.read_text())
        _no_unknown_variables()
        return Settings()
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file} is not TOML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None
    except ValidationError as error:
        raise SettingsError(
            "\n".join(_told(each["loc"], each["type"], each["msg"], file) for each in error.errors())
        ) from None


def keys() -> Iterator[tuple[str, str, str]]:
    """Every key with its default, as text, and its meaning."""
    for section, key, default, meaning in _fields():
        yield f"{section}.{key}" if section else key, default, meaning


def in_force(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Every key with its value, secrets masked, and where the value came from."""
    file = found_file()
    written: Mapping[str, object] = tomllib.loads(file.read_text()) if file else {}
    for section, key, _, _ in _fields():
        value = getattr(getattr(settings, section) if section else settings, key)
        variable = PREFIX + (f"{section}{_DELIMITER}{key}" if section else key).upper()
        table = written.get(section, {}) if section else written
        in_file = isinstance(table, Mapping) and key in table
        origin = variable if os.environ.get(variable) else str(file) if in_file else "default"
        yield f"{section}.{key}" if section else key, _shown(value), origin


def _fields() -> Iterator[tuple[str, str, str, str]]:
    for name, field in Settings.model_fields.items():
        part = field.annotation
        if isinstance(part, type) and issubclass(part, Section):
            for key, each in part.model_fields.items():
                yield name, key, _shown(each.default), each.description or ""
        else:
            yield "", name, "(the user's data folder)", field.description or ""


def _shown(value: object) -> str:
    if isinstance(value, SecretStr):
        return "********" if value.get_secret_value() else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _told(where: tuple[int | str, ...], kind: str, message: str, file: Path | None) -> str:
    key = ".".join(str(step) for step in where)
    source = f"{file} or a {PREFIX} variable" if file else f"a {PREFIX} variable"
    if kind == "extra_forbidden":
        return f"unknown setting {key} in {source}{_suggestion(key)}"
    return f"wrong value for {key} in {source}: {message}"


def _suggestion(key: str) -> str:
    close = difflib.get_close_matches(key, [name for name, _, _ in keys()], n=1, cutoff=0.5)
    return f". Did you mean {close[0]}?" if close else ". `haru settings` lists all"


def _no_unknown_variables() -> None:
    """The library reads the variables it knows; a misspelt one must not be passed over in silence."""
    known = {PREFIX + name.replace(".", _DELIMITER).upper(): name for name, _, _ in keys()}
    for variable in sorted(os.environ):
        if variable.startswith(PREFIX) and variable != CONFIG_VARIABLE and variable not in known:
            name = variable.removeprefix(PREFIX).lower().replace(_DELIMITER, ".")
            raise SettingsError(f"unknown setting: the variable {variable}{_suggestion(name)}")
