"""The two measured phases: messages in batches, and messages one by one."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearcast.bench.engine.recording import RecordedEngine, per_message, work_ns
from nearcast.kernels.clock import nanoseconds_per_tick

Micros = NDArray[np.float64]


class Batches(NamedTuple):
    """What the batches took; microseconds are per message."""

    wall_s: float
    changes: int
    intake_us: float
    shards_us: float  # all shards' work
    counters: NDArray[np.int64]  # what this phase added, over all shards
    shards: int
    arrival: Micros  # of the slowest shard
    expiry: Micros
    work: Micros  # of all shards, arrival and expiry
    hits: NDArray[np.int64]


class Singles(NamedTuple):
    """What each `publish` took, in microseconds."""

    publish: Micros  # on the wall
    cpu: Micros  # of this thread: without what other processes took from it
    arrival: Micros  # of all shards, which then run one after the other
    expiry: Micros
    hits: NDArray[np.int64]


def run_batches(engine: RecordedEngine, tables: list[pa.Table], tick: Any) -> Batches:
    """Publish the tables and record what happens to the buffers."""
    messages = sum(table.num_rows for table in tables)
    engine.record(messages)
    before = engine.counted()
    wall, changes = 0.0, 0
    for table in tables:
        start = time.perf_counter()
        result = engine.publish_many(table)
        wall += time.perf_counter() - start
        changes += result.num_rows
        tick(table.num_rows)
    steps = engine.steps or []
    logs = per_message(steps)
    ticks = np.array([[log[:, :2].sum() for log in step.logs] for step in steps])
    shards_us = work_ns(ticks, np.array([step.cpu_ns for step in steps])) / 1000 / messages
    times = logs[:, :, :2] * (nanoseconds_per_tick() / 1000)
    slowest = times.max(axis=0)
    return Batches(
        wall, changes, engine.intake_ns / 1000 / messages, shards_us, engine.counted() - before, len(logs),
        slowest[:, 0], slowest[:, 1], times.sum(axis=(0, 2)), logs[:, :, 2].sum(axis=0),
    )  # fmt: skip


def run_singles(engine: RecordedEngine, rows: list[dict[str, Any]], tick: Any) -> Singles:
    """Publish messages one by one."""
    engine.record()
    publish, cpu = np.empty((2, len(rows)))
    for i, row in enumerate(rows):
        start, cpu_start = time.perf_counter_ns(), time.thread_time_ns()
        engine.publish(row["text"], at=(row["x"], row["y"]), time=row["time"])
        cpu[i] = (time.thread_time_ns() - cpu_start) / 1000
        publish[i] = (time.perf_counter_ns() - start) / 1000
        tick(1)
    logs = per_message(engine.steps or []).sum(axis=0)
    times = logs[:, :2] * (nanoseconds_per_tick() / 1000)
    return Singles(publish, cpu, times[:, 0], times[:, 1], logs[:, 2])
