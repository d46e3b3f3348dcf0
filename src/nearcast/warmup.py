"""Compile every kernel that an engine uses, once: a tiny engine does everything, and Numba keeps what it compiled.

A minute or two after an installation or a new version; afterwards each process only loads, in a fraction of a second.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from numba.core import event
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from nearcast import kernels
from nearcast.engine import Engine
from nearcast.model import last, within
from nearcast.reference import ReferenceEngine
from nearcast.space import earth, plane
from nearcast.text import Vocabulary

OURS = "nearcast."


class Report(NamedTuple):
    """What a warm-up did. `folder` is where compiled kernels are kept, None if Numba's compiler is switched off."""

    compiled: list[str]
    seconds: float
    folder: Path | None


class Watcher(event.Listener):  # type: ignore[misc]
    """Hears from Numba what it compiles (not what it loads), and passes on the names of our functions."""

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        self.tell = tell
        self.open: list[str] = []
        self.compiled: list[str] = []

    def on_start(self, happening: Any) -> None:
        """An entry kernel, or within one a function that it calls."""
        function = happening.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__name__}"
        if name.startswith(OURS):
            name = name.removeprefix("nearcast.kernels.")
            entry = next(filter(None, self.open), "")
            self.tell(entry or name, name if entry else "")
            if not entry:
                self.compiled.append(name)
        else:
            name = ""
        self.open.append(name)

    def on_end(self, happening: Any) -> None:
        self.open.pop()


def warm_up(tell: Callable[[str, str], None] = lambda kernel, part: None) -> Report:
    """Compile what is not compiled yet. `tell` hears each kernel, and then each of its parts, as its turn comes."""
    start = time.perf_counter()
    watcher = Watcher(tell)
    event.register("numba:compile", watcher)
    try:
        if kernels.CACHE_DIR is not None:
            exercise()
    finally:
        event.unregister("numba:compile", watcher)
    return Report(watcher.compiled, time.perf_counter() - start, kernels.CACHE_DIR)


def warm_up_with_progress(*, quiet: bool) -> None:
    """The same with a line that says what is being compiled; `quiet` says nothing if everything is compiled."""
    console = Console(stderr=True, highlight=False)
    columns = (SpinnerColumn(), TextColumn("Compiling"), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        tasks: list[TaskID] = []

        def tell(kernel: str, part: str) -> None:
            if not tasks:
                console.print("Compiling the kernels, once. This takes a minute or two.")
                tasks.append(progress.add_task(""))
            if console.is_terminal:
                progress.update(tasks[0], description=f"[bold]{kernel}[/] [dim]{part}[/]")
            elif not part:
                console.print(f"  {kernel}")

        report = warm_up(tell)
    if report.folder is None:
        console.print("Nothing to compile: NUMBA_DISABLE_JIT is set, so kernels run as plain Python.")
    elif report.compiled:
        console.print(
            f"Compiled {len(report.compiled)} kernels in {report.seconds:.0f} s into {report.folder}", soft_wrap=True
        )
    elif not quiet:
        where = f"in {report.folder} (checked in {report.seconds:.1f} s)"
        console.print(f"All kernels are compiled already, {where}", soft_wrap=True)


def exercise() -> None:
    """Every operation of every engine, on both windows and in both spaces, on one thread and on two."""
    Vocabulary.fit(["vegan ramen", "hot soup"])
    for space in (earth(max_km=100), plane(-10, -10, 10, 10)):
        space.ssim(0.0, 0.0, 1.0, 1.0)
        space.cell_rect(0, 0)
        for window in (last(30), within(seconds=30)):
            for threads in (1, 2):
                engine = Engine(window, space, threads=threads)
                run(engine)
                with tempfile.TemporaryDirectory(prefix="nearcast-") as folder:
                    engine.snapshot(Path(folder) / "snapshot")
                    Engine.restore(Path(folder) / "snapshot").stats()
            run(ReferenceEngine(window, space))


def run(engine: Engine | ReferenceEngine) -> None:
    """A short life: lists fill, messages expire, buffers run empty and are filled again."""
    names = list("abcdefghijklmnopqrstuvwxyz")
    places = [(number % 7) / 10 for number in range(len(names))]
    engine.subscribe(names[0], "vegan ramen", at=(0.1, 0.1), k=2)
    table = {"id": names[1:], "text": ["ramen", "hot soup", "cold noodles soup", "vegan"] * 6 + ["hot ramen"]}
    engine.subscribe_many(pa.table({**table, "x": places[1:], "y": places[1:], "k": [1, 2, 3, 4, 5] * 5}))
    for number in range(40):
        engine.publish("hot vegan ramen", at=(0.1, number / 100), time=number * 1000)
    engine.publish({"ramen": 2.0, "soup": 1.0}, at=(0.1, 0.1), time=40_000)
    count = 40
    texts = ["hot ramen", "cold soup noodles"] * (count // 2)
    times = [41_000 + number for number in range(count)]
    places = [number / 100 for number in range(count)]
    engine.publish_many(pa.table({"text": texts, "x": places, "y": places, "time": times}))
    engine.top(names[0])
    engine.explain(names[0], engine.newest_seq)
    engine.unsubscribe(names[0])
    engine.advance(200_000)
