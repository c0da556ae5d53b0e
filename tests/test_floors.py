"""Imports go down: the table of docs/architecture.md, checked."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "haru"

FLOOR = {
    "errors": 0, "memory": 0, "receipt": 0, "postings": 0, "coverage": 0, "measures": 0, "lines": 0,
    "yielding": 0, "products": 0,
    "folding": 0, "language": 0, "languages": 0, "words": 0,
    "learning": 1, "scoring": 1, "ranking": 1, "corpus": 1, "chatlog": 1, "ports": 1, "journal": 1, "forgotten": 1,
    "wire": 1, "carried": 1, "order": 1,
    "index": 2, "postgres": 2, "embed": 2, "llm": 2,
    "recall": 3, "writer": 3, "review": 3, "rebuild": 3, "conversation": 3, "copying": 3,
    "doors": 4,
    "app": 5, "bench": 5, "testing": 5,
}  # fmt: skip
SIDEWAYS = {
    ("conversation", "recall"),
    ("bench", "testing"),
    ("app", "testing"),
    ("app", "bench"),
    ("rebuild", "review"),
}
ADAPTERS = {"index", "postgres", "embed", "llm"}
MAY_NAME_ADAPTERS = {"app", "bench", "testing"}


def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(SOURCE.rglob("*.py"))


def part(path: Path) -> str:
    """The part of Haru that a module belongs to: its folder, or its own name."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Full names of all that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def parts_imported(path: Path) -> set[str]:
    """The parts of Haru that a module imports, its own apart."""
    return {name.split(".")[1] for name in imported(path) if name.startswith("haru.")} - {part(path)}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path: Path) -> None:
    """A part imports only what stands below it, or the one neighbour it is allowed."""
    me = part(path)
    if me in {"__init__", "__main__"}:
        return
    assert me in FLOOR, f"{me} stands on no floor: add it to the table here and in docs/architecture.md"
    wrong = {
        other
        for other in parts_imported(path)
        if FLOOR[other] >= FLOOR[me] and (me, other) not in SIDEWAYS and FLOOR[me] > 1
    } | {other for other in parts_imported(path) if FLOOR[other] > FLOOR[me]}
    assert not wrong, f"{me} imports {sorted(wrong)}, which do not stand below it"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_the_top_names_adapters(path: Path) -> None:
    """Work knows the ports; which back end, embedder or model stands behind them is chosen at the top."""
    me = part(path)
    if me not in MAY_NAME_ADAPTERS:
        assert not (parts_imported(path) & ADAPTERS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_below_the_top_reads_the_environment(path: Path) -> None:
    """Settings come down as arguments."""
    if part(path) in {"app", "bench", "testing"}:
        return
    text = path.read_text()
    assert "os.environ" not in text
    assert "getenv" not in text


def test_lower_floors_hold_no_circle() -> None:
    """On the two lowest floors, where neighbours may import each other, no part reaches itself again."""
    edges = {part(path): parts_imported(path) for path in modules() if FLOOR.get(part(path), 9) <= 1}

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = list(edges[start])
        while ahead:
            here = ahead.pop()
            if here not in seen:
                seen.add(here)
                ahead.extend(edges.get(here, ()))
        return seen

    assert not {name for name in edges if name in reach(name)}


def test_the_command_line_starts_light() -> None:
    """`haru --help` loads neither numpy nor pydantic nor a model client."""
    code = (
        "import sys; import haru.app.cli; "
        "print([m for m in ('numpy', 'pydantic', 'openai', 'httpx', 'onnxruntime') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
