"""The commands of `nearcast bench`. What they measure is said in docs/benchmarks.md."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Literal

import typer

from nearcast.bench.engine.options import Options

FACTORS = {"k": 1000, "m": 1_000_000}

app = typer.Typer(
    name="bench",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root() -> None:
    """Measure Nearcast. Each run checks its own lists; one wrong list and the run is void (exit code 1)."""


def size(given: str | int) -> int:
    """`20000`, `100k` or `1.5m` as a number of at least 1."""
    text = str(given).strip().lower()
    try:
        number = Decimal(text[:-1]) * FACTORS[text[-1]] if text[-1:] in FACTORS else Decimal(text)
        whole = int(number)
    except (InvalidOperation, OverflowError, ValueError):
        raise typer.BadParameter(f"takes a size such as 20000, 100k or 1.5m, not {given!r}") from None
    if whole != number or not 1 <= whole <= 10**10:
        raise typer.BadParameter(f"takes a whole number from 1, not {given!r}")
    return whole


@app.command()
def engine(
    workload: Annotated[str, typer.Option(help="tweets, gn, yelp, or a Parquet file: text, lon, lat, ts.")] = "tweets",
    subscriptions: Annotated[int, typer.Option(parser=size, metavar="SIZE", help="How many.")] = 1_000_000,
    window: Annotated[int, typer.Option(parser=size, metavar="SIZE", help="Live messages.")] = 1_000_000,
    k: Annotated[int, typer.Option(min=1, max=1000, help="Length of each list.")] = 20,
    messages: Annotated[
        int, typer.Option(parser=size, metavar="SIZE", help="Messages of the measured run, in batches.")
    ] = 20_000,
    threads: Annotated[int, typer.Option(min=1, max=64, help="Shards, each on a thread.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another stream.")] = 1,
    space: Annotated[Literal["plane", "earth"], typer.Option(help="The paper's plane, or great circles.")] = "plane",
    max_km: Annotated[
        float | None, typer.Option(min=0.001, help="On earth: the distance at which nearness is 0.", show_default="all")
    ] = None,
    batch: Annotated[int, typer.Option(parser=size, metavar="SIZE", help="Messages a publish_many.")] = 2048,
    order: Annotated[Literal["blocks", "paper"], typer.Option(help="How long lists are ordered.")] = "blocks",
    check: Annotated[int, typer.Option(min=1, help="Subscriptions whose lists are checked by brute force.")] = 200,
    singles: Annotated[int, typer.Option(parser=size, metavar="SIZE", help="Messages published one by one.")] = 2000,
    floor: Annotated[bool, typer.Option(help="Measure the floor, too; it takes a second engine's memory.")] = True,
    out: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Write the result here, raw samples beside it.")
    ] = None,
) -> None:
    """Fill a window, register subscriptions, publish, and compare with the floor. The last line is one JSON object.

    [bold]Examples[/bold]

    nearcast bench engine --subscriptions 100k --window 100k --messages 5000

    nearcast bench engine --workload venues.parquet --space earth --max-km 50 --json venues.json
    """
    from nearcast.bench.engine.report import write
    from nearcast.bench.engine.run import measure
    from nearcast.warmup import warm_up_with_progress

    options = Options(
        workload, subscriptions, window, k, messages, threads, seed, space, max_km, batch, order, check, singles, floor
    )
    options.require_sound()
    warm_up_with_progress(quiet=True)
    result = measure(options)
    if out is not None:
        write(result, out)
    print(json.dumps(result.numbers, allow_nan=False), flush=True)
    if result.problems:
        raise typer.Exit(1)


@app.command()
def table(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Where the results lie.")],
) -> None:
    """Put the results of a folder side by side, as Markdown.

    [bold]Example[/bold]

    nearcast bench table bench-results/engine > bench-results/engine/README.md
    """
    from nearcast.bench.engine import table as tables

    print(tables.table(tables.read(folder)), end="")
