"""Progress on stderr: what a run is doing, and how long each step took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Tick = Callable[[int], None]


class Steps:
    """One line for each step that is done; on a terminal also a bar for the one that runs."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str, total: int | None = None) -> Iterator[Tick]:
        """Time a step; the function it gives reports progress towards `total`."""
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        hidden = not self.console.is_terminal
        start = time.perf_counter()
        with Progress(*columns, console=self.console, transient=True, disable=hidden) as progress:
            task = progress.add_task(name, total=total)
            yield lambda count: progress.advance(task, count)
        self.seconds[name] = time.perf_counter() - start
        self.say(f"{name:<32} {self.seconds[name]:8.1f} s")

    def say(self, line: str) -> None:
        """Another line."""
        self.console.print(line, markup=False, soft_wrap=True)
