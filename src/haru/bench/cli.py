"""`haru bench …`: parse, measure, print, keep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from haru.bench.figures import one_thread, write
from haru.bench.levels import embedders

app = typer.Typer(
    help="Measure speed and quality on this machine.", no_args_is_help=True, pretty_exceptions_enable=False
)
console = Console()

Draw = Callable[[dict[str, Any], Path], None]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Where the figures go (bench-results/NAME.json).")]
Plot = Annotated[Path | None, typer.Option("--plot", help="Where a picture goes (PNG; needs the extra `bench`).")]


@app.command()
def deadline(
    turns: Annotated[int, typer.Option(help="Turns per fault.")] = 1000,
    fault: Annotated[list[str] | None, typer.Option(help="Only these faults.")] = None,
    json_file: JsonFile = None,
    plot: Plot = None,
) -> None:
    """Does recall keep its deadline, whatever the index does?"""
    one_thread()
    from haru.bench import deadline as bench

    result = asyncio.run(bench.run(turns, bench.chosen(fault or ()), console.print))
    table = Table("fault", "turns", "waited p50", "p99", "over budget p99", "max", "raised", "leaked", "loop lag")
    for name, each in result["faults"].items():
        if "turns" in each:
            leaked = each["leaked_tasks"] + each["leaked_threads"]
            keys = ("waited_p50_ms", "waited_p99_ms", "overshoot_p99_ms", "overshoot_max_ms")
            times = [f"{each[key]:.1f} ms" for key in keys]
            lag = f"{each['loop_lag_max_ms']:.0f} ms"
            table.add_row(name, str(each["turns"]), *times, str(each["exceptions"]), str(leaked), lag)
    console.print(table)
    down = result["faults"]["store_down_for_good"]
    console.print(
        f"Store down for good: no wait from turn {down['first_turn_without_wait']} on; "
        f"its return is noticed after {down['recovery_s']} s."
    )
    _keep("deadline", result, json_file, plot, bench.plot)
    _judge(bench.missed(result))


@app.command()
def recall(
    sizes: Annotated[str, typer.Option(help="Numbers of memories, by commas.")] = "1000,10000,100000",
    questions: Annotated[int, typer.Option(help="Questions per size.")] = 300,
    writing: Annotated[bool, typer.Option("--writing/--quiet", help="Another process writes meanwhile.")] = True,
    json_file: JsonFile = None,
    plot: Plot = None,
) -> None:
    """How long does a reply wait for the embedded index, as it grows?"""
    one_thread()
    from haru.bench import recall as bench

    counts = [int(each) for each in sizes.split(",")]
    result = asyncio.run(bench.run(counts, questions, writing=writing, told=console.print))
    table = Table("memories", "engine", "wait p50", "p95", "p99", "max", "CPU p50", "CPU p99", "arrays ready", "RSS")
    for each in result["rows"]:
        wall, cpu = each["wall_ms"], each["cpu_ms"]
        times = [
            f"{value:.2f} ms" for value in (wall["p50"], wall["p95"], wall["p99"], wall["max"], cpu["p50"], cpu["p99"])
        ]
        ready = f"{each['ready_ms']:.0f} ms" if "ready_ms" in each else ""
        rss = f"{each['rss_mib']:.0f} MiB" if "rss_mib" in each else ""
        table.add_row(f"{each['memories']:,}", each["engine"], *times, ready, rss)
    console.print(table)
    _keep("recall", result, json_file, plot, bench.plot)
    _judge(bench.missed(result))


@app.command()
def quality(
    data: Annotated[
        Path | None, typer.Option(help="locomo10.json of the LoCoMo repository; it is not shipped.")
    ] = None,
    beliefs: Annotated[Path | None, typer.Option(help="Folder of PrecisionMemBench's fixtures; not shipped.")] = None,
    level: Annotated[list[str] | None, typer.Option(help="light or full; both where MiniLM is installed.")] = None,
    json_file: JsonFile = None,
    plot: Plot = None,
) -> None:
    """Does recall find what answers a question, and say nothing where nothing does?"""
    one_thread()
    from haru.bench import quality as bench

    result = bench.run(data, beliefs, embedders(level or ()), console.print)
    for part, keys in bench.COLUMNS.items():
        table = Table(*(key.replace("_", " ") for key in keys), title=part)
        for row in result.get(part, ()):
            if row.get("conversations", "all") == "all":
                table.add_row(*(str(row[key]) for key in keys))
        if table.row_count:
            console.print(table)
    _keep("quality", result, json_file, plot, bench.plot)
    _judge(bench.missed(result))


@app.command()
def service(
    database: Annotated[str, typer.Option(help="A database for this alone; without one, a server is started.")] = "",
    households: Annotated[int, typer.Option(help="How many share the database.", min=1)] = 100,
    memories: Annotated[int, typer.Option(help="Memories of each.", min=10)] = 1000,
    questions: Annotated[int, typer.Option(help="Searches of each way to ask.", min=10)] = 1000,
    json_file: JsonFile = None,
    plot: Plot = None,
) -> None:
    """Many households in one PostgreSQL: how long does a search take?"""
    one_thread()
    from haru.bench import service as bench

    result = asyncio.run(bench.run(database, households, memories, questions, console.print))
    table = Table("asked", "p50", "p95", "p99", "max")
    for name, key in (("by one client", "alone_ms"), (f"{result['a_second']} times a second", "steady_ms")):
        table.add_row(name, *(f"{result[key][point]:.1f} ms" for point in ("p50", "p95", "p99", "max")))
    console.print(table)
    console.print(
        f"Found: {result['recall']['postgres']:.1%}, by the embedded index {result['recall']['embedded']:.1%}."
    )
    _keep("service", result, json_file, plot, bench.plot)
    _judge(bench.missed(result))


@app.command()
def learn(
    data: Annotated[Path, typer.Option(help="locomo10.json of the LoCoMo repository; it is not shipped.")],
    level: Annotated[list[str] | None, typer.Option(help="light or full; both where MiniLM is installed.")] = None,
    json_file: JsonFile = None,
    plot: Plot = None,
) -> None:
    """Does feedback help questions never asked before, and does wrong feedback do harm?"""
    one_thread()
    from haru.bench import learn as bench

    result = bench.run(data, embedders(level or ()), console.print)
    keys = ("level", "judged", "questions", "count", "recall@5", "mrr")
    table = Table(*keys)
    for row in result["rows"]:
        table.add_row(*(str(row[key]) for key in keys))
    console.print(table)
    _keep("learn", result, json_file, plot, bench.plot)
    _judge(bench.missed(result))


@app.command()
def speech(
    turns: Annotated[int, typer.Option(help="Turns per delay.")] = 240,
    json_file: JsonFile = None,
    plot: Plot = None,
) -> None:
    """Replayed at speaking speed: how long does a reply wait for memories?"""
    one_thread()
    from haru.bench import speech as bench

    result = asyncio.run(bench.run(turns, console.print))
    table = Table("store takes", "wait < 1 ms", "wait p50", "p99", "searches a turn", "max", "found", "by waiting")
    for row in result["rows"]:
        wait = row["waited_ms"]
        cells = [row["under_1_ms"], f"{wait['p50']:.2f} ms", f"{wait['p99']:.1f} ms", row["searches_a_turn"]]
        cells += [row["searches_max"], row["found"], row["found_by_waiting"]]
        table.add_row(f"{row['delay_ms']} ms", *map(str, cells))
    console.print(table)
    _keep("speech", result, json_file, plot, bench.plot)
    _judge(bench.missed(result))


@app.command()
def start(json_file: JsonFile = None) -> None:
    """How quickly does the command line start, and how much memory does the core take?"""
    one_thread()
    from haru.bench import start as bench

    result = bench.run()
    for key, value in result["figures"].items():
        console.print(f"{key}: {value}")
    _keep("start", result, json_file, None, None)
    _judge(bench.missed(result))


@app.command()
def peers(
    data: Annotated[
        Path | None, typer.Option(help="locomo10.json of the LoCoMo repository; it is not shipped.")
    ] = None,
    sizes: Annotated[str, typer.Option(help="Numbers of memories, by commas.")] = "1000,10000",
    only: Annotated[list[str] | None, typer.Option(help="Only these engines, beside Haru.")] = None,
    json_file: JsonFile = None,
    plot: Plot = None,
) -> None:
    """How do others do on the same memories and questions (needs the extra `peers`)?"""
    one_thread()
    from haru.bench import peers as bench

    result = bench.run(data, [int(each) for each in sizes.split(",")], bench.chosen(only or ()), console.print)
    for title, head, rows in bench.tables(result):
        table = Table(*head, title=title)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    _keep("peers", result, json_file, plot, bench.plot)
    _judge(bench.missed(result), bench.unjudged(result))


@app.command()
def page(
    results: Annotated[Path, typer.Option(help="Folder of JSON results.")] = Path("bench-results"),
    file: Annotated[Path, typer.Option(help="Page to write.")] = Path("docs/benchmarks.md"),
) -> None:
    """Make the page of figures from the kept results."""
    from haru.bench import page as bench

    file.write_text(bench.page(results))
    console.print(f"{file} written.")


def _keep(name: str, result: dict[str, Any], json_file: Path | None, plot: Path | None, draw: Draw | None) -> None:
    console.print(f"Figures kept in {write(name, result, json_file)}.")
    if plot and draw:
        draw(result, plot)
        console.print(f"Picture in {plot}.")


def _judge(missed: list[str], unjudged: list[str] | None = None) -> None:
    for each in unjudged or ():
        console.print(f"[yellow]goal not judged: {each}[/yellow]")
    for each in missed:
        console.print(f"[red]goal missed: {each}[/red]")
    if missed:
        raise typer.Exit(1)
    if not unjudged:
        console.print("[green]All goals held.[/green]")
