"""`haru chat`: a conversation in the terminal."""

from __future__ import annotations

import asyncio
import signal
from contextlib import aclosing

from rich.markup import escape
from rich.table import Table

from haru.app import compose
from haru.app.commands import memory
from haru.app.commands.keyboard import Keyboard
from haru.app.commands.opened import console, plain, review
from haru.app.settings import Settings, load, without_login
from haru.chatlog import Turn
from haru.conversation import Conversation
from haru.errors import HaruError, ModelFailure
from haru.llm.discover import discover
from haru.memory import Memory
from haru.recall.sessions import Sessions
from haru.review import NoSuchMemory, Review

HELP = """\
/why             what the last reply recalled, from where, and how long it took
/memories        what is remembered
/forget ID       forget a memory for good; words instead of an id find it
/new             begin a new session
/quit            end (Ctrl-C while Haru speaks only stops the reply)"""
_CANDIDATES = 5


async def chat() -> int:
    """Talk until the input ends. Exit code 1 where lines were piped in and one got no reply."""
    settings = load()
    await introduce(settings)
    async with compose.conversing(settings, door="chat") as (conversation, sessions):
        return await Chat(settings, conversation, sessions).run()


async def introduce(settings: Settings) -> None:
    """Say plainly what this runs on, and what better parts would change."""
    if settings.llm.url:
        console.print(f"[dim]Model {plain(settings.llm.model)} at {plain(without_login(settings.llm.url))}.[/dim]")
    elif settings.llm.path:
        console.print(f"[dim]Model {plain(settings.llm.path)}, on this machine.[/dim]")
    else:
        console.print(
            "[dim]No model is configured: this runs on the small embedded one (SmolLM2, 135 million parameters). It "
            "chats simply and gets facts wrong; a larger one would answer well.[/dim]"
        )
        for found in await discover():
            console.print(
                f"[dim]{found.service} runs here. To use it, put this into haru.toml:[/dim]\n"
                f'\\[llm]\nurl = "{found.url}"\nmodel = "{plain(found.models[0])}"'
            )
    learns = compose.extractor_name(settings)
    hint = " A configured model would learn more, and in any language." if compose.uses_rules(settings) else ""
    console.print(
        f"[dim]Memories are made by {plain(learns)}, a few minutes after you spoke.{hint} /help lists commands.[/dim]"
    )


class Chat:
    """One person at one terminal."""

    def __init__(self, settings: Settings, conversation: Conversation, sessions: Sessions) -> None:
        self._settings = settings
        self._conversation = conversation
        self._sessions = sessions
        self._keyboard = Keyboard()
        self._reply: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """Take lines until there are no more; a reply in hand is finished first."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, self._keyboard.close)
        unanswered = 0
        await self._conversation.start()
        while line := await self._keyboard.line("[cyan]You:[/cyan] "):
            words = line.strip()
            if words in {"/quit", "/exit", "/q"}:
                break
            if words.startswith("/"):
                await self._command(words)
            elif words:
                unanswered += not await self._say(words)
        return 1 if unanswered and not self._keyboard.typed else 0

    def _interrupt(self) -> None:
        if self._reply:
            self._reply.cancel()
        else:
            self._keyboard.close()

    async def _say(self, words: str) -> bool:
        """One turn, the reply printed as it comes; whether there was one."""
        answered = True
        console.print("[green]Haru:[/green] ", end="")
        self._reply = asyncio.create_task(self._print_reply(words))
        try:
            await asyncio.wait([self._reply])
            if not self._reply.cancelled():
                self._reply.result()
        except ModelFailure as error:
            answered = False
            console.print(f"[red]{plain(str(error))}[/red]", end="")
        finally:
            self._reply.cancel()
            self._reply = None
        console.print()
        if problem := self._conversation.log_problem:
            console.print(f"[red]This conversation is not being saved: {plain(problem)}[/red]")
        return answered

    async def _print_reply(self, words: str) -> None:
        async with aclosing(self._conversation.reply(words)) as pieces:
            async for piece in pieces:
                console.print(plain(piece), end="")

    async def _command(self, line: str) -> None:
        name, _, argument = line.partition(" ")
        try:
            if name == "/why":
                await why(self._conversation.last, self._settings)
            elif name == "/memories":
                await memory.list_(retired=False, every=False, limit=50, as_json=False)
            elif name == "/forget" and argument:
                await self._forget(argument.strip())
            elif name == "/new":
                await self._conversation.reset("asked")
                console.print("A new session begins with your next words.")
            else:
                console.print(escape(HELP))
        except HaruError as error:
            console.print(f"[red]{plain(str(error))}[/red]")

    async def _forget(self, key: str) -> None:
        async with compose.opened_index(self._settings) as index:
            reviewed = review(self._settings, index, "chat")
            meant = await _meant(reviewed, key)
            if meant is None:
                return
            told = await reviewed.explain(meant.id)
            console.print(f"[bold]{plain(told.memory.text)}[/bold]")
            console.print(f"Erase it for good, and the words of {len(told.said_in)} turns? Type yes:")
            if (await self._keyboard.line()).strip().lower() not in {"yes", "y"}:
                console.print("Kept.")
                return
            await reviewed.forget(meant.id)
        self._sessions.forget([meant.id])
        await self._conversation.reset("forgotten")  # the model must not read it in what was said before
        console.print("Forgotten. A new session begins with your next words.")


async def _meant(reviewed: Review, key: str) -> Memory | None:
    """The memory with an id; else the one that the words find, or a list where they find several."""
    try:
        return await reviewed.get(key)
    except NoSuchMemory:
        found = [hit.memory for hit in (await reviewed.find(key, size=_CANDIDATES)).hits]
    if len(found) == 1:
        return found[0]
    for each in found:
        console.print(f"{each.id[:12]}  {plain(each.text)}")
    console.print("Say which: /forget ID" if found else "Nothing comes close enough; /memories lists all.")
    return None


async def why(turn: Turn | None, settings: Settings) -> None:
    """The last receipt as a table."""
    if turn is None or turn.receipt is None:
        console.print("Nothing was said yet.")
        return
    receipt = turn.receipt
    if not receipt.query:
        console.print("Small talk: nothing was searched.")
        return
    problem = f", {receipt.problem}" if receipt.problem else ""
    console.print(
        f"Searched for “{plain(receipt.query)}”: {receipt.outcome}{problem}. The reply waited "
        f"{receipt.waited_ms:.1f} ms of at most {receipt.budget_ms:.0f}. "
        f"{receipt.cached} memories at hand, breaker {receipt.breaker}."
    )
    if not receipt.recalled:
        return
    async with compose.opened_index(settings) as index:
        known = {each.id: each for each in await index.get([each.id for each in receipt.recalled])}
    table = Table("memory", "from", "score", "id")
    for each in receipt.recalled:
        text = plain(known[each.id].text) if each.id in known else "(forgotten)"
        table.add_row(text, each.source, f"{each.score:.2f}", each.id[:12])
    console.print(table)
