"""From options to an engine with a full window and all subscriptions, and its copy."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from nearcast.bench.engine.environment import load
from nearcast.bench.engine.options import Options
from nearcast.bench.engine.recording import RecordedEngine
from nearcast.bench.engine.steps import Steps
from nearcast.bench.workloads import Workload, subscription_tables
from nearcast.bench.workloads import load as load_workload
from nearcast.engine import Engine
from nearcast.errors import InvalidInput, RowError
from nearcast.model import last
from nearcast.tuning import Tuning

FILL = 20_000
"""Messages a batch while the window is filled."""

REGISTER = 100_000
"""Subscriptions a batch."""


class Load(NamedTuple):
    """What the engine will get, made before its memory is looked at; the window's messages are not kept."""

    workload: Workload
    subscriptions: pa.Table
    batches: list[pa.Table]
    singles: list[dict[str, Any]]


def make_load(options: Options) -> Load:
    """Subscriptions, and the messages of both measured phases."""
    workload = load_workload(options.workload, options.stream, options.seed)
    tables = subscription_tables(workload, options.subscriptions, options.k, options.seed)
    batches = workload.tables(options.batch, options.window, options.messages)
    singles = workload.batch(options.window + options.messages, options.singles)
    return Load(workload, pa.concat_tables(tables), list(batches), singles.to_pylist())


def make_engine(options: Options, workload: Workload) -> RecordedEngine:
    """An empty engine with a vocabulary fitted on the stream's beginning."""
    space = workload.space(options.space, options.max_km)
    tuning = Tuning(order=options.order)
    return RecordedEngine(last(options.window), space, workload.vocabulary(), threads=options.threads, tuning=tuning)


def fill(engine: Engine, workload: Workload, options: Options, steps: Steps) -> float:
    """Fill the window; the seconds spent in the engine."""
    seconds = 0.0
    with steps.step("Filling the window", options.window) as tick:
        for table in workload.tables(FILL, 0, options.window):
            start = time.perf_counter()
            engine.publish_many(table)
            seconds += time.perf_counter() - start
            tick(table.num_rows)
    return seconds


def register(engine: Engine, table: pa.Table, steps: Steps) -> dict[str, Any]:
    """Register all subscriptions against the full window; seconds spent in the engine, the system's load meanwhile."""
    seconds, rejected = 0.0, list[RowError]()
    load_before = load()
    with steps.step("Registering subscriptions", table.num_rows) as tick:
        for first in range(0, table.num_rows, REGISTER):
            part = table.slice(first, REGISTER).combine_chunks()
            start = time.perf_counter()
            engine.subscribe_many(part, rejected)
            seconds += time.perf_counter() - start
            tick(part.num_rows)
    if not engine.subscriptions:
        raise InvalidInput("workload", f"has no usable subscription: {rejected[0]}")
    loads = {"load_before": load_before, "load_after": load()}
    return {"seconds": seconds, "rejected": len(rejected), **loads}


def copy_of(engine: Engine) -> Engine:
    """The same engine once more, through a snapshot."""
    with tempfile.TemporaryDirectory(prefix="nearcast-") as folder:
        path = Path(folder) / "snapshot"
        engine.snapshot(path)
        return Engine.restore(path)
