"""From settings to parts: what is chosen when, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from haru.app import compose
from haru.app.sections import Embed, Index, Llm, Writer
from haru.app.settings import Settings
from haru.errors import SettingsError


def settings(home: Path, **sections: object) -> Settings:
    """Settings with some sections given."""
    return Settings.model_validate({"home": home, "embed": Embed(model="static"), **sections})


@pytest.mark.parametrize(
    ("llm", "extractor", "rules"),
    [
        (Llm(), "auto", True),
        (Llm(url="http://x/v1", model="m"), "auto", False),
        (Llm(path="/models/big.gguf"), "auto", False),
        (Llm(), "model", False),
        (Llm(url="http://x/v1", model="m"), "rules", True),
    ],
)
def test_the_rules_extract_where_no_capable_model_is(tmp_path: Path, llm: Llm, extractor: str, rules: bool) -> None:
    """By themselves only beside the tiny embedded model; a choice of a person's always holds."""
    chosen = settings(tmp_path, llm=llm, writer=Writer.model_validate({"extractor": extractor}))
    assert compose.uses_rules(chosen) is rules
    assert ("rules" in compose.extractor_name(chosen)) is rules


def test_an_embedder_is_what_was_asked_for(tmp_path: Path) -> None:
    """The static table, none at all, or a service; a service without a name is an error, not another embedder."""
    static = compose.embedder(settings(tmp_path))
    assert static is not None
    assert static.id.startswith("static")
    assert compose.embedder(settings(tmp_path, embed=Embed(model="none"))) is None
    with pytest.raises(SettingsError, match=r"embed\.name"):
        compose.embedder(settings(tmp_path, embed=Embed(model="endpoint", url="http://x/v1")))
    service = compose.embedder(settings(tmp_path, embed=Embed(model="endpoint", url="http://x/v1", name="e5")))
    assert service is not None
    assert "e5" in service.id


async def test_an_index_is_closed_whatever_happens_in_between(tmp_path: Path) -> None:
    """After an error inside, nothing of it is left open, and it can be opened again."""
    chosen = settings(tmp_path)

    async def fail() -> None:
        async with compose.opened_index(chosen) as index:
            await index.page()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with compose.opened_index(chosen) as index:
        assert (await index.page()).memories == ()


async def test_the_in_process_index_leaves_no_file(tmp_path: Path) -> None:
    """It is for trying things out: nothing is written."""
    async with compose.opened_index(settings(tmp_path, index=Index(backend="inprocess"))) as index:
        assert (await index.search("anything")).hits == ()
    assert list(tmp_path.iterdir()) == []
