"""The command line: parse, call a command, return an exit code. Loads nothing heavy before it knows the command."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, cast

import typer

app = typer.Typer(
    name="haru",
    help="A voice assistant that remembers, and never makes you wait for it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
memory = typer.Typer(help="See, mend, retire and forget what Haru knows.", no_args_is_help=True)
index = typer.Typer(help="Serve the index to other machines; move it to another back end.", no_args_is_help=True)
log = typer.Typer(help="See what was said.", no_args_is_help=True)
writer = typer.Typer(help="Turn the chat log into memories (its own process).", invoke_without_command=True)
app.add_typer(memory, name="memory")
app.add_typer(index, name="index")
app.add_typer(log, name="log")
app.add_typer(writer, name="writer")

AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of text.")]
Yes = Annotated[bool, typer.Option("--yes", help="Don't ask.")]
Id = Annotated[str, typer.Argument(help="Id of a memory, or the beginning of one.")]


def call(name: str, *arguments: object, **options: object) -> None:
    """Run a command, imported now: ``memory.show`` is `show` in `haru.app.commands.memory`."""
    module, function = name.split(".")
    result: Any = getattr(importlib.import_module(f"haru.app.commands.{module}"), function)(*arguments, **options)
    code = asyncio.run(cast("Coroutine[None, None, object]", result)) if asyncio.iscoroutine(result) else result
    if isinstance(code, int) and code:
        raise typer.Exit(code)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file to use.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say more on standard error.")] = False,
) -> None:
    """Options of every command."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    if not verbose:
        logging.getLogger("httpx").setLevel(logging.ERROR)
    if config:
        os.environ["HARU_CONFIG"] = str(config)
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"haru {installed('haru')}")
        raise typer.Exit


@app.command()
def chat() -> None:
    """Talk with Haru in the terminal."""
    call("chat.chat")


@app.command()
def up() -> None:
    """Talk with Haru, the writer running beside it."""
    call("up.up")


@app.command()
def demo(
    as_json: AsJson = False,
    keep: Annotated[Path | None, typer.Option("--keep", help="Leave the demo's data in this folder.")] = None,
) -> None:
    """A conversation that is remembered, on real parts."""
    call("demo.demo", as_json=as_json, keep=keep)


@app.command()
def settings(as_json: AsJson = False) -> None:
    """What is set, and where each value came from."""
    call("settings.show", as_json=as_json)


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check every part, and say what to do."""
    call("doctor.doctor", as_json=as_json)


@app.command()
def rebuild(
    from_log: Annotated[
        bool, typer.Option("--from-log", help="Extract everything anew from the chat log (asks the model).")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Make the index again: from the journal, exactly and without a model, or from the chat log."""
    call("rebuild.rebuild", from_log=from_log, yes=yes, as_json=as_json)


@index.command("serve")
def index_serve(
    port: Annotated[int, typer.Option("--port", help="Port to listen on.", min=1, max=65535)] = 8700,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; beyond this machine only with a key.")] = (
        "127.0.0.1"
    ),
    keys: Annotated[Path | None, typer.Option("--keys", help="File of keys: ORGANISATION read|write KEY.")] = None,
    searches_a_minute: Annotated[int, typer.Option(help="Most searches of an organisation; 0 for any.", min=0)] = 0,
) -> None:
    """Serve memories, and other short documents, to other machines (needs the extra `server`)."""
    call("index.serve", port=port, host=host, keys=keys, searches_a_minute=searches_a_minute)


@index.command("copy")
def index_copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="sqlite, relevan or postgres")],
    target: Annotated[str, typer.Argument(metavar="TO", help="sqlite, relevan or postgres")],
    remove: Annotated[bool, typer.Option("--remove", help="Erase what stands only at TO.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy all memories to another back end, and compare them. Begun again, it goes on."""
    call("index.copy", source, target, remove=remove, as_json=as_json)


@writer.callback()
def write(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Do what is due, and end.")] = False,
    beside: Annotated[bool, typer.Option("--beside", hidden=True, help="End when standard input does.")] = False,
    as_json: AsJson = False,
) -> None:
    """Turn the chat log into memories."""
    if context.invoked_subcommand is None:
        call("writer.write", once=once, beside=beside, as_json=as_json)


@writer.command()
def retry(session: Annotated[str, typer.Argument(help="Only this session's.")] = "", as_json: AsJson = False) -> None:
    """Try turns again that were set aside: all of them, or one session's."""
    call("writer.retry", session, as_json=as_json)


@writer.command()
def aside(as_json: AsJson = False) -> None:
    """List turns that were set aside, with the reason."""
    call("writer.aside", as_json=as_json)


@memory.command("list")
def list_(
    retired: Annotated[bool, typer.Option("--retired", help="Retired ones instead of active ones.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Active and retired ones.")] = False,
    limit: Annotated[int, typer.Option(help="Most to show; 0 for all.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List memories, most important first."""
    call("memory.list_", retired=retired, every=every, limit=limit, as_json=as_json)


@memory.command()
def search(query: str, size: Annotated[int, typer.Option(help="Most to show.")] = 10, as_json: AsJson = False) -> None:
    """Find memories as recall would."""
    call("memory.search", query, size=size, as_json=as_json)


@memory.command()
def show(key: Id, as_json: AsJson = False) -> None:
    """One memory with the turns it rests on, its history, and where it came up."""
    call("memory.show", key, as_json=as_json)


@memory.command()
def add(
    text: Annotated[str, typer.Argument(help="One sentence in the third person.")],
    subject: Annotated[str, typer.Option(help="Two or three words it is about.")] = "",
    kind: Annotated[
        str, typer.Option(help="fact, preference, person, event, plan, project, interest or finding.")
    ] = "fact",
    tag: Annotated[list[str] | None, typer.Option(help="May be given several times.")] = None,
    importance: Annotated[int | None, typer.Option(min=1, max=5)] = None,
    as_json: AsJson = False,
) -> None:
    """Add a memory by hand."""
    call("memory.add", text, subject=subject, kind=kind, tags=tag or [], importance=importance, as_json=as_json)


@memory.command()
def edit(
    key: Id,
    text: Annotated[str | None, typer.Option(help="The new sentence.")] = None,
    subject: Annotated[str | None, typer.Option()] = None,
    kind: Annotated[str | None, typer.Option()] = None,
    importance: Annotated[int | None, typer.Option(min=1, max=5)] = None,
    as_json: AsJson = False,
) -> None:
    """Change a memory."""
    fields = {"text": text, "subject": subject, "kind": kind, "importance": importance}
    call("memory.edit", key, {name: value for name, value in fields.items() if value is not None}, as_json=as_json)


@memory.command()
def retire(key: Id, reason: Annotated[str, typer.Option()] = "", as_json: AsJson = False) -> None:
    """Take a memory out of recall; it can be restored."""
    call("memory.retire", key, reason=reason, as_json=as_json)


@memory.command()
def restore(key: Id, as_json: AsJson = False) -> None:
    """Let a retired memory be recalled again."""
    call("memory.restore", key, as_json=as_json)


@memory.command()
def forget(key: Id, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a memory for good, from every file."""
    call("memory.forget", key, yes=yes, as_json=as_json)


@memory.command()
def export(
    file: Annotated[Path | None, typer.Argument(help="JSON Lines file; standard output if left out.")] = None,
) -> None:
    """Write all memories as JSON Lines."""
    call("memory.export", file)


@memory.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="JSON Lines file, as `export` writes it.")], as_json: AsJson = False
) -> None:
    """Take memories in from JSON Lines; one that is there already is replaced."""
    call("memory.import_", file, as_json=as_json)


@memory.command()
def stats(as_json: AsJson = False) -> None:
    """Count what is known."""
    call("memory.stats", as_json=as_json)


@log.command("show")
def log_show(
    session: Annotated[str, typer.Argument(help="Only this session.")] = "",
    last: Annotated[int, typer.Option(help="Only so many of the newest turns; 0 for all.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show turns with their receipts."""
    call("log.show", session, last=last, as_json=as_json)


@log.command()
def follow(as_json: AsJson = False) -> None:
    """Show turns as they are logged, until interrupted."""
    call("log.follow", as_json=as_json)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def bench(context: typer.Context) -> None:
    """Measure speed and quality on this machine."""
    importlib.import_module("haru.bench.cli").app(args=context.args, prog_name="haru bench")


def main() -> None:
    """Run, with every error of ours as one clear line."""
    os.umask(0o077)  # what people say at home is for its owner's eyes
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        # The outermost loop: ours are told in a line, anything else is a fault and shows where.
        from haru.errors import HaruError

        if not isinstance(error, HaruError):
            raise
        typer.echo(f"haru: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
