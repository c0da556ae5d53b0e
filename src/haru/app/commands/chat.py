"""`haru chat`: a conversation in the terminal."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing

from rich.markup import escape
from rich.table import Table

from haru.app import compose
from haru.app.commands import memory
from haru.app.commands.opened import console, review
from haru.app.settings import Settings, load
from haru.chatlog import Turn
from haru.conversation import Conversation
from haru.errors import HaruError, ModelFailure
from haru.llm.discover import discover
from haru.recall.sessions import Sessions

HELP = """\
/why             what the last reply recalled, from where, and how long it took
/memories        what is remembered
/forget ID       forget a memory for good
/new             begin a new session
/quit            end"""


async def chat(*, intro: bool = True) -> None:
    """Talk until the input ends."""
    settings = load()
    async with compose.conversing(settings, door="chat") as (conversation, sessions):
        if intro:
            await introduce(settings)
        await conversation.start()
        async for line in _lines():
            words = line.strip()
            if words in {"/quit", "/exit", "/q"}:
                break
            if words.startswith("/"):
                await _command(words, settings, conversation, sessions)
            elif words:
                await say(words, conversation)


async def introduce(settings: Settings) -> None:
    """Say plainly what this runs on, and what better parts would change."""
    if settings.llm.url:
        console.print(f"[dim]Model {settings.llm.model} at {settings.llm.url}.[/dim]")
    else:
        console.print(
            "[dim]No model is configured: this runs on the small embedded one (SmolLM2, 135 million parameters). It "
            "chats simply and gets facts wrong; a larger one would answer well.[/dim]"
        )
        for found in await discover():
            console.print(
                f"[dim]{found.service} runs on this machine. To use it, put this into haru.toml:[/dim]\n"
                f'\\[llm]\nurl = "{found.url}"\nmodel = "{found.models[0]}"'
            )
    learns = compose.extractor_name(settings)
    hint = " A configured model would learn more, and in any language." if compose.uses_rules(settings) else ""
    console.print(
        f"[dim]Memories are made by {learns}, a few minutes after you spoke.{hint} /help lists commands.[/dim]"
    )


async def say(words: str, conversation: Conversation) -> None:
    """One turn, the reply printed as it comes."""
    console.print("[green]Haru:[/green] ", end="")
    try:
        async with aclosing(conversation.reply(words)) as pieces:
            async for piece in pieces:
                console.print(escape(piece), end="")
        console.print()
    except ModelFailure as error:
        console.print(f"[red]{escape(str(error))}[/red]")
    if conversation.log_problem:
        console.print(f"[red]This conversation is not being saved: {escape(conversation.log_problem)}[/red]")


async def _command(line: str, settings: Settings, conversation: Conversation, sessions: Sessions) -> None:
    name, _, argument = line.partition(" ")
    try:
        if name == "/why":
            await why(conversation.last, settings)
        elif name == "/memories":
            await memory.list_(retired=False, every=False, limit=50, as_json=False)
        elif name == "/forget" and argument:
            await _forget(argument.strip(), settings, sessions)
        elif name == "/new":
            await conversation.reset("asked")
            console.print("A new session begins with your next words.")
        else:
            console.print(HELP)
    except HaruError as error:
        console.print(f"[red]{escape(str(error))}[/red]")


async def why(turn: Turn | None, settings: Settings) -> None:
    """The last receipt as a table."""
    if turn is None or turn.receipt is None:
        console.print("Nothing was said yet.")
        return
    receipt = turn.receipt
    problem = f", {receipt.problem}" if receipt.problem else ""
    console.print(
        f"Searched for “{escape(receipt.query)}”: {receipt.outcome}{problem}. The reply waited "
        f"{receipt.waited_ms:.1f} ms of at most {receipt.budget_ms:.0f}. {receipt.cached} memories at hand, breaker {receipt.breaker}."
        if receipt.query
        else "Small talk: nothing was searched."
    )
    if not receipt.recalled:
        return
    async with compose.opened_index(settings) as index:
        known = {each.id: each for each in await index.get([each.id for each in receipt.recalled])}
    table = Table("memory", "from", "score", "id")
    for each in receipt.recalled:
        text = known[each.id].text if each.id in known else "(forgotten)"
        table.add_row(escape(text), each.source, f"{each.score:.2f}", each.id[:12])
    console.print(table)


async def _forget(key: str, settings: Settings, sessions: Sessions) -> None:
    async with compose.opened_index(settings) as index:
        reviewed = review(settings, index, "chat")
        told = await reviewed.explain(key)
        console.print(f"[bold]{escape(told.memory.text)}[/bold]")
        console.print(f"Erase it for good, and the words of {len(told.said_in)} turns? Type yes:")
        answer = await asyncio.to_thread(sys.stdin.readline)
        if answer.strip().lower() not in {"yes", "y"}:
            console.print("Kept.")
            return
        await reviewed.forget(told.memory.id)
    sessions.forget([told.memory.id])
    console.print("Forgotten.")


async def _lines() -> AsyncIterator[str]:
    """Lines that are typed or piped in, the loop left free meanwhile."""
    loop = asyncio.get_running_loop()
    while True:
        if sys.stdin.isatty():
            console.print("[cyan]You:[/cyan] ", end="")
        line: asyncio.Future[str] = loop.create_future()
        # A thread of its own that dies with the process: one that waits for input can't be told to stop.
        threading.Thread(target=_read_line, args=(loop, line), daemon=True).start()
        text = await line
        if not text:
            return
        yield text


def _read_line(loop: asyncio.AbstractEventLoop, line: asyncio.Future[str]) -> None:
    text = sys.stdin.readline()
    if not loop.is_closed():
        loop.call_soon_threadsafe(lambda: line.done() or line.set_result(text))
