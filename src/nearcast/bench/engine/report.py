"""The result of a run: one JSON object, raw samples beside it. docs/benchmarks.md says what each field means."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nearcast.bench.engine.floor import Floor
from nearcast.bench.engine.phases import Batches, Micros, Singles
from nearcast.kernels import layout
from nearcast.kernels.clock import nanoseconds_per_tick
from nearcast.statistics import COUNTERS, PER_SHARD, STAGES

PER_MESSAGE = ("postings_seen", "verified", "affected", "refills")
DIGITS = 5


@dataclass(frozen=True)
class Result:
    """`numbers` are of JSON's types; `samples` are tables by name; `problems` make the run void."""

    numbers: dict[str, Any]
    samples: dict[str, pa.Table]
    problems: list[str]


def spread(values: Micros) -> dict[str, float]:
    """The usual points of a distribution."""
    p50, p99 = np.percentile(values, (50, 99))
    points = {"p50": p50, "p99": p99, "max": values.max(), "mean": values.mean()}
    return {name: rounded(value) for name, value in points.items()}


def rounded(value: float) -> float:
    """Five digits: no measurement here is better."""
    return float(f"{value:.{DIGITS}g}")


def batch_numbers(batches: Batches) -> dict[str, Any]:
    """Throughput, and what happened per message."""
    messages = len(batches.hits)
    tick_us = nanoseconds_per_tick() / 1000
    stages = {name.removesuffix("_s"): batches.counters[at] * tick_us / messages for name, at in STAGES.items()}
    stages["intake"] = batches.intake_us
    return {
        "messages_per_s": rounded(messages / batches.wall_s),
        "wall_us": rounded(batches.wall_s * 1e6 / messages),
        "arrival_us": spread(batches.arrival),
        "expiry_us": spread(batches.expiry),
        "stages_us": {name: rounded(value) for name, value in stages.items()},
        "work_us": rounded(batches.shards_us + batches.intake_us),
        "disturbed_us": rounded(max(0.0, float(batches.work.mean()) - batches.shards_us)),
        **{name: rounded(batches.counters[COUNTERS[name]] / messages) for name in PER_MESSAGE},
        "changes_per_message": rounded(batches.changes / messages),
        "counters": counts(batches),
    }


def counts(batches: Batches) -> dict[str, int]:
    """The engine's counters by their public names."""
    numbers = {name: int(batches.counters[at]) for name, at in COUNTERS.items()}
    return numbers | {name: numbers[name] // batches.shards for name in PER_SHARD}


def single_numbers(singles: Singles) -> dict[str, Any]:
    """The latencies of single messages."""
    times = {"arrival_us": spread(singles.arrival), "expiry_us": spread(singles.expiry)}
    return {"publish_us": spread(singles.publish), "publish_cpu_us": spread(singles.cpu), "singles": times}


def floor_numbers(floor: Floor, batches: Batches, work_us: float) -> dict[str, Any]:
    """The floor, and how far above it the run was."""
    messages = len(batches.hits)
    floor_us = floor.work_ns / 1000 / messages
    measured_us = float(floor.ticks.sum()) * nanoseconds_per_tick() / 1000 / messages
    return {
        "floor_us": rounded(floor_us),
        "floor_wall_us": rounded(floor.wall_s * 1e6 / messages),
        "ratio": rounded(work_us / floor_us),
        "ratio_wall": rounded(batches.wall_s / floor.wall_s),
        "floor_disturbed_us": rounded(max(0.0, measured_us - floor_us)),
    }


def buffer_mean(engine: Any) -> float:
    """Entries in a subscription's buffer, on average."""
    entries = sum(int(shard.subscriptions.control[layout.C_ENTRIES]) for shard in engine._shards)
    return rounded(entries / engine.subscriptions)


def batch_samples(batches: Batches, floor: Floor | None, first_seq: int) -> pa.Table:
    """One row for each message of the batches."""
    columns = {
        "seq": np.arange(first_seq, first_seq + len(batches.hits)),
        "arrival_us": batches.arrival,
        "expiry_us": batches.expiry,
        "shards_us": batches.work,
        "affected": batches.hits,
    }
    if floor is not None:
        columns["floor_us"] = floor.ticks.sum(axis=0) * (nanoseconds_per_tick() / 1000)
    return pa.table(columns)


def single_samples(singles: Singles, first_seq: int) -> pa.Table:
    """One row for each single message."""
    return pa.table(
        {
            "seq": np.arange(first_seq, first_seq + len(singles.hits)),
            "publish_us": singles.publish,
            "publish_cpu_us": singles.cpu,
            "arrival_us": singles.arrival,
            "expiry_us": singles.expiry,
            "affected": singles.hits,
        }
    )


def write(result: Result, path: Path) -> None:
    """The numbers into `path`, the samples into NAME.batches.parquet and NAME.singles.parquet beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result.numbers, indent=2, allow_nan=False) + "\n")
    for name, table in result.samples.items():
        pq.write_table(table, path.with_suffix(f".{name}.parquet"))
