"""Settings: ``haru.toml`` and ``HARU_*`` variables, typed and checked; a wrong key is an error, never ignored.

Order of say: environment, file, default. A variable is ``HARU_`` + section + ``__`` + key:
``HARU_RECALL__BUDGET_S=0.2``.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import platformdirs
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from haru.app.sections import Conversation, Embed, Index, Llm, Log, Recall, Section, Writer
from haru.errors import SettingsError

PREFIX = "HARU_"
CONFIG_VARIABLE = "HARU_CONFIG"
SERVER_KEY, SERVER_READ_KEY = "HARU_INDEX_SERVER_KEY", "HARU_INDEX_SERVER_READ_KEY"
"""Keys that `haru index serve` gives out; no settings, for no file should hold them beside others."""
_DELIMITER = "__"


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
    """Folder of the chat log, the journal and the index; ``~`` is your home folder."""
    recall: Recall = Recall()
    conversation: Conversation = Conversation()
    log: Log = Log()
    index: Index = Index()
    embed: Embed = Embed()
    llm: Llm = Llm()
    writer: Writer = Writer()

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What a program gives, then the environment, then the file."""
        del dotenv_settings, file_secret_settings
        file = found_file()
        found = (TomlConfigSettingsSource(settings_cls, file),) if file else ()
        return (init_settings, env_settings, *found)


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
            "\n".join(_told(each["loc"], each["type"], each["msg"], each["input"], file) for each in error.errors())
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
        table = written.get(section, {}) if section else written
        in_file = isinstance(table, Mapping) and key in table
        name = f"{section}.{key}" if section else key
        origin = _variable(name) if os.environ.get(_variable(name)) else str(file) if in_file else "default"
        yield name, _shown(value), origin


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
    return str(value).lower() if isinstance(value, bool) else without_login(str(value))


def without_login(text: str) -> str:
    """Text in which no address carries a name and password."""
    return re.sub(r"(?<=://)[^/@\s]+@", "********@", text)


def _told(where: tuple[int | str, ...], kind: str, message: str, value: object, file: Path | None) -> str:
    """One fault as a line: the key, where it stands, and what is right. A key of a service is never repeated."""
    key = ".".join(str(step) for step in where)
    source = f"the variable {_variable(key)}" if os.environ.get(_variable(key)) else _place(file, key)
    if kind == "extra_forbidden":
        return f"unknown setting {key} in {source}{_suggestion(key)}"
    given = "" if "key" in key or isinstance(value, Mapping) else f" {value!r}"
    return f"wrong value{given} for {key} in {source}: {message}"


def _variable(key: str) -> str:
    return PREFIX + key.replace(".", _DELIMITER).upper()


def _place(file: Path | None, key: str) -> str:
    """The file, with the line on which a key stands."""
    section, _, name = key.rpartition(".")
    table = ""
    for number, line in enumerate(file.read_text().splitlines() if file else [], start=1):
        if heading := re.match(r"\s*\[\s*([\w.]+)\s*\]", line):
            table = heading[1]
        if table == key or (table == section and re.match(rf"\s*{re.escape(name)}\s*=", line)):
            return f"{file}, line {number}"
    return str(file or "the settings")


def _suggestion(key: str) -> str:
    names = [name for name, _, _ in keys()]
    known = [*names, *dict.fromkeys(name.split(".")[0] for name in names)]
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f". Did you mean {close[0]}?" if close else ". `haru settings` lists all"


def _no_unknown_variables() -> None:
    """The library reads the variables it knows; a misspelt one must not be passed over in silence."""
    known = {*(_variable(name) for name, _, _ in keys()), CONFIG_VARIABLE, SERVER_KEY, SERVER_READ_KEY}
    for variable in sorted(os.environ):
        if variable.startswith(PREFIX) and variable not in known:
            name = variable.removeprefix(PREFIX).lower().replace(_DELIMITER, ".")
            raise SettingsError(f"unknown setting: the variable {variable}{_suggestion(name)}")
