"""The command line. Each command imports what it needs when it runs, so that `--help` answers at once.

What a user did wrong is one plain line and exit code 2; a traceback is always our mistake.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

import typer

from nearcast import NearcastError, __version__

app = typer.Typer(
    name="nearcast",
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The program `nearcast`."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; its exit code."""
    try:
        code = app(list(arguments), prog_name="nearcast", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except NearcastError as error:
        return refuse(str(error))
    except typer.TyperException as error:
        return refuse(error.format_message())
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:  # `nearcast … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.filename is None:
            raise
        return refuse(f"{error.filename}: {error.strerror}")


def refuse(problem: str) -> int:
    """Say what was wrong, in one line."""
    print(f"nearcast: {' '.join(problem.split())}", file=sys.stderr)
    return 2


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """The k best messages of a geo-tagged stream for each standing subscription, exact, pushed as they change.

    [bold]Examples[/bold]

    nearcast demo [dim]— watch lists re-rank live[/dim]

    nearcast warmup [dim]— compile the kernels now instead of at the first use[/dim]

    nearcast bench engine --help [dim]— measure the engine[/dim]
    """
    if version:
        print(f"nearcast {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def demo(
    messages: Annotated[
        int | None, typer.Option(min=1, help="End after so many messages.", show_default="never")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=10_000,
            help="Messages a second; 0 is as fast as it goes (the default of lines that end).",
            show_default="20",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another stream.")] = 1,
    plain: Annotated[bool, typer.Option("--plain", help="Print changes as lines; without a terminal, always.")] = False,
) -> None:
    """Watch lists re-rank live: made-up messages at real places, and six subscriptions around the world.

    [bold]Examples[/bold]

    nearcast demo

    nearcast demo --rate 60 --seed 7

    nearcast demo --messages 2000 --plain [dim]> changes.txt[/dim]
    """
    from nearcast.demo.show import show
    from nearcast.warmup import warm_up_with_progress

    warm_up_with_progress(quiet=True)
    show(messages=messages, rate=rate, seed=seed, plain=plain)


@app.command()
def warmup() -> None:
    """Compile all kernels now. Once per installation, a minute or two; every later start only loads them.

    [bold]Example[/bold]

    nearcast warmup
    """
    from nearcast.warmup import warm_up_with_progress

    warm_up_with_progress(quiet=False)


if find_spec("nearcast.bench.cli"):

    @app.command(
        add_help_option=False,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )
    def bench(context: typer.Context) -> object:
        """Measure: engine, experiments, peers. `nearcast bench --help` tells more."""
        benchmarks: typer.Typer = import_module("nearcast.bench.cli").app
        return benchmarks(context.args, prog_name="nearcast bench", standalone_mode=False)
