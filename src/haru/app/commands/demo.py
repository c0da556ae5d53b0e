"""`haru demo`: the whole of Haru on real parts. Log, index, writer process and model are those of every day.

A conversation of some days ago is typed in; the writer process mines it; the questions of today are asked, first with
the index at work, then with an index that hangs.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from haru.app import compose
from haru.app.commands.opened import console, review, tell
from haru.app.settings import CONFIG_VARIABLE, PREFIX, Settings, load
from haru.chatlog import ChatLog, Finding, Turn
from haru.conversation import Conversation
from haru.errors import HaruError
from haru.ports import ChatModel, MemoryIndex
from haru.recall.sessions import Sessions
from haru.testing.faults import FaultyIndex

_TYPING_S = 0.06
"""Pause between two words of the demo's typist, who types faster than anybody speaks."""
_ENTER_S = 0.4
"""Pause before the return key; speech ends with half a second of silence in its place."""
_REPLY_TOKENS = 40


@dataclass(slots=True)
class Told:
    """What the demo found, for `--json` and the exit code."""

    turns: list[Turn] = field(default_factory=list[Turn])
    right: int = 0
    wrong: list[str] = field(default_factory=list[str])


async def demo(*, as_json: bool, keep: Path | None) -> int:
    """Run the demo; exit code 1 where something was not remembered."""
    logging.getLogger("haru.recall").setLevel(logging.ERROR)  # the hanging index is part of the show
    script: dict[str, Any] = json.loads(files("haru.app").joinpath("demo.json").read_text())
    console.quiet = as_json
    with tempfile.TemporaryDirectory(prefix="haru-demo-") as scratch:
        folder = keep or Path(scratch)
        _use(folder)
        settings = load()
        compose.Home(folder).make()
        _introduce(settings)
        model = compose.model(settings)
        try:
            console.rule("Six days ago")
            days = timedelta(days=script["first"]["days_ago"])
            async with compose.opened_index(settings) as index:
                await index.warm()
                await _talk(settings, index, model, script["first"]["turns"], Told(), ago=days)
            console.rule("Minutes later, in another process: the writer")
            await _write()
            await _show_memories(settings)
            console.rule("Today, in a new session")
            answered = Told()
            async with compose.opened_index(settings) as index:
                await index.warm()
                await _talk(settings, index, model, script["second"]["questions"], answered)
                console.rule("The same questions, with an index that hangs")
                hanging = FaultyIndex(index)
                fallen_back = Told()
                await _talk(settings, hanging, model, script["second"]["questions"], fallen_back, hang=hanging)
        finally:
            await model.aclose()
        _sum_up(answered, fallen_back, as_json=as_json)
        if keep:
            console.print(f"The data stays in {keep}: look at it with HARU_HOME={keep} haru memory list")
        return 1 if answered.wrong or fallen_back.wrong else 0


def _use(folder: Path) -> None:
    """The demo's own folder and the defaults: nobody's memories are touched."""
    for name in [name for name in os.environ if name.startswith(PREFIX) and not name.startswith(f"{PREFIX}LLM")]:
        del os.environ[name]
    os.environ[f"{PREFIX}HOME"] = str(folder)
    os.environ[f"{PREFIX}WRITER__QUIET_S"] = "60"
    os.environ.pop(CONFIG_VARIABLE, None)


def _introduce(settings: Settings) -> None:
    if settings.llm.url:
        console.print(f"Model: {settings.llm.model} at {settings.llm.url}.")
    else:
        console.print(
            "Model: SmolLM2-135M, embedded. It is tiny: look at what is [bold]recalled[/bold], not at how well it "
            "puts it. A larger model (set llm.url and llm.model) answers properly."
        )
    better = " A capable model learns more, and in other languages." if compose.uses_rules(settings) else ""
    console.print(f"Memories are made by {compose.extractor_name(settings)}.{better}")


async def _talk(
    settings: Settings,
    index: MemoryIndex,
    model: ChatModel,
    lines: Sequence[dict[str, Any]],
    told: Told,
    *,
    ago: timedelta = timedelta(0),
    hang: FaultyIndex | None = None,
) -> None:
    """One session, typed word by word through the same conversation as every door uses."""

    def now() -> datetime:
        return datetime.now().astimezone() - ago

    async with AsyncExitStack() as stack:
        sessions = Sessions(
            index, compose.at_hand(settings), compose.recall_settings(settings), finer=compose.finer(settings)
        )
        stack.push_async_callback(sessions.aclose)
        log = ChatLog(compose.Home(settings.home).log, now=now)
        stack.push_async_callback(log.aclose)
        plain = compose.conversation_settings(settings, "demo")
        conversation = Conversation(sessions, model, log, replace(plain, max_reply_tokens=_REPLY_TOKENS), now=now)
        stack.push_async_callback(conversation.aclose)
        await conversation.start()
        if hang:
            await asyncio.sleep(0.5)  # the memories at hand are fetched when speech begins; then the trouble starts
            hang.fault = "hung"
        for line in lines:
            await _turn(conversation, line, told)


async def _turn(conversation: Conversation, line: dict[str, Any], told: Told) -> None:
    console.print("[cyan]You:[/cyan] ", end="")
    typed = ""
    for word in line["said"].split():
        typed = f"{typed} {word}".strip()
        console.print(escape(word), end=" ")
        await conversation.hear(typed)
        await asyncio.sleep(_TYPING_S)
    await asyncio.sleep(_ENTER_S)
    console.print("\n[green]Haru:[/green] ", end="")
    findings = [Finding(**line["looked_up"])] if "looked_up" in line else []
    async for piece in conversation.reply(line["said"], findings=findings):
        console.print(escape(piece.replace("\n", " ")), end="")
    turn = conversation.last
    assert turn
    assert turn.receipt
    receipt = turn.receipt
    console.print(
        f"\n      [dim]recall: {receipt.outcome}{f' ({receipt.problem})' if receipt.problem else ''}, "
        f"{len(receipt.recalled)} memories, waited {receipt.waited_ms:.1f} ms[/dim]"
    )
    told.turns.append(turn)
    _judge(line, turn, conversation.recalled, told)


def _judge(line: dict[str, Any], turn: Turn, recalled: Sequence[str], told: Told) -> None:
    """Whether what was wanted came up, and nothing where nothing was."""
    if "wants" not in line:
        return
    for text in recalled:
        console.print(f"      [dim]· {escape(text)}[/dim]")
    missing = [each for each in line["wants"] if not any(each in text for text in recalled)]
    noise = not line["wants"] and recalled
    if missing or noise:
        told.wrong.append(turn.said)
        console.print(f"      [red]{'missing: ' + ', '.join(missing) if missing else 'nothing was wanted'}[/red]")
    else:
        told.right += 1


async def _write() -> None:
    """The real writer process, as `haru writer --once` starts it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "haru.app.cli", "writer", "--once", "--json", stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise HaruError(f"the writer ended with code {process.returncode}")
    for batch in json.loads(output):
        console.print(
            f"{batch['turns']} turns read in {batch['seconds']:.2f} s: {batch['added']} memories added, "
            f"{batch['updated']} updated, {batch['retired']} retired."
        )
        for reason in batch["dropped"]:
            console.print(f"  [dim]not carried out: {escape(reason)}[/dim]")


async def _show_memories(settings: Settings) -> None:
    table = Table("remembered", "kind", "because you said")
    async with compose.opened_index(settings) as index:
        async for memory in review(settings, index, "demo").all():
            quotes = " / ".join(each.quote for each in memory.evidence)
            table.add_row(escape(memory.text), memory.kind, f"[dim]{escape(quotes)}[/dim]")
    console.print(table)


def _sum_up(answered: Told, fallen_back: Told, *, as_json: bool) -> None:
    rows = {"index at work": answered, "index hanging": fallen_back}
    figures = {name: _figures(told) for name, told in rows.items()}
    if as_json:
        console.quiet = False
        tell(figures)
        return
    console.rule("How long replies stood still for memory")
    table = Table("", "right", "median", "p95", "max", "waited 0 ms (< 1 ms)")
    for name, each in figures.items():
        times = [f"{each[key]:.1f} ms" for key in ("median_ms", "p95_ms", "max_ms")]
        table.add_row(name, f"{each['right']} of {each['asked']}", *times, f"{each['share_0_ms']:.0%}")
    console.print(table)
    console.print(
        "The budget is 250 ms. With a hanging index three turns wait for it; then the breaker ends the waiting."
    )


def _figures(told: Told) -> dict[str, float]:
    waited = np.array([turn.receipt.waited_ms for turn in told.turns if turn.receipt])
    return {
        "asked": told.right + len(told.wrong),
        "right": told.right,
        "median_ms": float(np.median(waited)),
        "p95_ms": float(np.percentile(waited, 95)),
        "max_ms": float(waited.max()),
        "share_0_ms": float((waited < 1.0).mean()),
    }
