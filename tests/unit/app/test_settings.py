"""Settings: where values come from, and that nothing wrong is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from haru.app.sections import Llm
from haru.app.settings import keys
from haru.errors import SettingsError

DOCS = Path(__file__).parents[3] / "docs" / "settings.md"

SEED = {
    "recall.budget_s": "0.25",
    "recall.size": "10",
    "recall.preload": "1000",
    "conversation.idle_s": "900.0",
    "conversation.person": "household",
    "writer.poll_s": "20.0",
    "writer.quiet_s": "120.0",
    "writer.due_turns": "20",
    "writer.context_turns": "6",
    "writer.related": "40",
    "writer.max_operations": "20",
}


def test_defaults_are_those_that_haru_was_designed_with(haru) -> None:
    """With nothing set, every figure is the designed one, and says that it is a default."""
    shown = haru("settings", "--json").json
    assert {key: shown[key]["value"] for key in SEED} == SEED
    assert all(shown[key]["from"] == "default" for key in SEED)
    assert shown["home"] == {"value": str(haru.home), "from": "HARU_HOME"}


def test_three_lines_reach_a_model_service(haru) -> None:
    """A table with address and name in ./haru.toml is all that Ollama, llama.cpp or vLLM need."""
    Path("haru.toml").write_text('[llm]\nurl = "http://127.0.0.1:11434/v1"\nmodel = "qwen3:8b"\n')
    shown = haru("settings", "--json").json
    assert shown["llm.url"] == {"value": "http://127.0.0.1:11434/v1", "from": "haru.toml"}
    assert shown["llm.model"]["value"] == "qwen3:8b"


def test_a_variable_goes_before_the_file(haru, tmp_path: Path) -> None:
    """The same key in both: the variable's value is in force, and its origin is named."""
    file = tmp_path / "mine.toml"
    file.write_text("[recall]\nbudget_s = 0.2\nsize = 5\n")
    shown = haru("--config", str(file), "settings", "--json", HARU_RECALL__BUDGET_S="0.1").json
    assert shown["recall.budget_s"] == {"value": "0.1", "from": "HARU_RECALL__BUDGET_S"}
    assert shown["recall.size"] == {"value": "5", "from": str(file)}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("[recall]\nbudgets = 1", "unknown setting recall.budgets in haru.toml, line 2. Did you mean recall.budget_s?"),
        ("[recal]\nsize = 1", "unknown setting recal in haru.toml, line 1. Did you mean recall?"),
        ("\n\nhoem = 'x'", "unknown setting hoem in haru.toml, line 3. Did you mean home?"),
        ("[embed]\nurl = 'x'\n[llm]\nurl = 7", "wrong value 7 for llm.url in haru.toml, line 4"),
        ("[recall]\nbudget_s = -1", "wrong value -1 for recall.budget_s in haru.toml, line 2"),
        ("[index]\nbackend = 'redis'", "Input should be 'sqlite', 'relevan', 'postgres' or 'inprocess'"),
        ("[llm", "haru.toml is not TOML"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(haru, body: str, told: str) -> None:
    """A misspelt key, a value of the wrong sort, an unknown back end: said with its place, never ignored."""
    Path("haru.toml").write_text(body)
    ran = haru("settings")
    assert ran.code == 2
    assert told in ran.out


def test_a_misspelt_variable_is_named(haru) -> None:
    """A HARU_ variable that sets nothing is an error with the likely right name."""
    ran = haru("settings", HARU_RECALL__BUGDET_S="0.1")
    assert (ran.code, "HARU_RECALL__BUGDET_S. Did you mean recall.budget_s?" in ran.out) == (2, True)


def test_a_wrong_variable_is_blamed_itself(haru) -> None:
    """The message names the variable and its value, not the file."""
    ran = haru("settings", HARU_RECALL__SIZE="many")
    assert "wrong value 'many' for recall.size in the variable HARU_RECALL__SIZE" in ran.out


def test_no_key_is_ever_shown(haru) -> None:
    """Keys are masked in the list, and a wrong one is not repeated in the message."""
    assert "sesame" not in haru("settings", HARU_LLM__KEY="open-sesame").out
    assert haru("settings", "--json", HARU_LLM__KEY="open-sesame").json["llm.key"]["value"] == "********"
    assert "sesame" not in haru("settings", HARU_LLM__URL="http://robin:open-sesame@localhost/v1").out
    Path("haru.toml").write_text("[llm]\nkey = ['open-sesame']\n")
    ran = haru("settings")
    assert "llm.key" in ran.out
    assert "sesame" not in ran.out


def test_a_key_can_stand_in_a_file(haru, tmp_path: Path) -> None:
    """A key file is read when the key is needed; one that is not there is named."""
    (tmp_path / "key").write_text("open-sesame\n")
    assert Llm(key_file=str(tmp_path / "key")).secret() == "open-sesame"
    with pytest.raises(SettingsError, match="no-such-file"):
        Llm(key_file=str(tmp_path / "no-such-file")).secret()


def test_a_named_file_that_is_not_there_is_an_error(haru) -> None:
    """A settings file asked for by name is never silently replaced by defaults."""
    ran = haru("--config", "/nowhere/haru.toml", "settings")
    assert (ran.code, "/nowhere/haru.toml" in ran.out) == (2, True)


def test_the_tilde_is_the_home_folder(haru, tmp_path: Path) -> None:
    """``~`` in a path means what it means in a shell."""
    shown = haru("settings", "--json", HARU_HOME="~/memories", HOME=str(tmp_path)).json
    assert shown["home"]["value"] == str(tmp_path / "memories")


def test_the_page_of_settings_is_complete() -> None:
    """docs/settings.md has a row for each key, with the default and meaning that the code has, and no other row."""
    rows = [line for line in DOCS.read_text().splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{key}` | {f'`{default}`' if default else ''} | {meaning} |" for key, default, meaning in keys()
    ]
