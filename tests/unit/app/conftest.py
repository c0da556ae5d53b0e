"""The command line on a folder of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haru.app.cli import app
from haru.errors import HaruError


@dataclass(frozen=True)
class Ran:
    """What a command said and how it ended."""

    code: int
    out: str

    @property
    def json(self) -> Any:
        """Its one JSON value."""
        return json.loads(self.out)


class Haru:
    """Runs commands in this process. Settings come from variables, as a person would give them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.variables = {
            "HARU_HOME": str(home),
            "HARU_EMBED__MODEL": "static",
            "HARU_CONFIG": "",  # `--config` sets it; the runner then puts it back
            "XDG_CONFIG_HOME": str(home / "no-config"),
            "COLUMNS": "200",
        }

    def __call__(self, *words: str, typed: str | None = None, **variables: str) -> Ran:
        """Run ``haru`` with these words; an error of ours ends with code 2, as the program itself does it."""
        result = CliRunner(env={**self.variables, **variables}).invoke(app, list(words), input=typed)
        if isinstance(result.exception, HaruError):
            return Ran(2, f"haru: {result.exception}")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.output)


@pytest.fixture
def haru(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Haru:
    """The command line, with an empty home folder and no settings file in reach."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    return Haru(tmp_path / "home")
