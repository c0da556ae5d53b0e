"""The PostgreSQL back end as a person uses it: one setting, one command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from haru.testing.postgres import database


def haru(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HARU_HOME": str(home), "HARU_EMBED__MODEL": "static", **variables}
    command = [sys.executable, "-m", "haru.app.cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_moving_into_a_database_and_rebuilding_there(tmp_path: Path, postgres: str) -> None:
    """The memories come from there; forgetting and rebuilding work as with the file."""
    there = {"HARU_INDEX__DATABASE": database(postgres)}
    haru(tmp_path, "memory", "add", "The user's dog is called Biscuit.")
    copied = json.loads(haru(tmp_path, "index", "copy", "sqlite", "postgres", "--json", **there).stdout)
    assert (copied["same"], copied["written"]) == (True, 1)
    there["HARU_INDEX__BACKEND"] = "postgres"
    found = json.loads(haru(tmp_path, "memory", "search", "what's my dog called", "--json", **there).stdout)
    assert "Biscuit" in json.dumps(found)
    findings = json.loads(haru(tmp_path, "doctor", "--json", **there).stdout)
    assert [each["verdict"] for each in findings if each["part"] == "index"] == ["ok"]
    haru(tmp_path, "memory", "add", "The user lives in Denver.", **there)
    listed = json.loads(haru(tmp_path, "memory", "list", "--json", **there).stdout)
    dog = next(each["id"] for each in listed if "Biscuit" in each["text"])
    assert haru(tmp_path, "memory", "forget", dog, "--yes", **there).returncode == 0
    rebuilt = haru(tmp_path, "rebuild", "--yes", **there)
    assert rebuilt.returncode == 0, rebuilt.stderr
    after = json.loads(haru(tmp_path, "memory", "list", "--json", **there).stdout)
    assert [each["text"] for each in after] == ["The user lives in Denver."]


def test_without_a_database_it_says_what_to_set(tmp_path: Path) -> None:
    """And with a wrong one that it cannot be reached, without the password."""
    told = haru(tmp_path, "memory", "list", HARU_INDEX__BACKEND="postgres")
    assert (told.returncode, "index.database" in told.stderr) == (2, True)
    wrong = "postgresql://haru:open-sesame@127.0.0.1:9/haru?connect_timeout=1"
    told = haru(tmp_path, "memory", "list", HARU_INDEX__BACKEND="postgres", HARU_INDEX__DATABASE=wrong)
    assert told.returncode != 0
    assert "database" in told.stderr
    assert "open-sesame" not in told.stdout + told.stderr
