"""The floor: the recorded updates applied once more, to a copy of the engine from before the run.

The copy lays its subscriptions out anew (other rows, perhaps other shards), so a recording is translated first.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast import capture
from nearcast.bench.engine.recording import RecordedEngine, work_ns
from nearcast.engine import Engine
from nearcast.kernels.floor import apply_known
from nearcast.kernels.layout import Trace
from nearcast.kernels.trace import TRACE_ENTRIES, TRACE_HITS, TRACE_REFILLS, TRACE_STEPS, no_trace
from nearcast.shard import Shard

CHUNK = 100_000
"""Subscriptions compared at a time."""

Array = NDArray[Any]


class Floor(NamedTuple):
    """What the floor took."""

    ticks: NDArray[np.int64]  # [shard, message]
    work_ns: float  # of all shards
    wall_s: float


def run_floor(engine: RecordedEngine, copy: Engine) -> Floor:
    """Apply to `copy` what `engine` recorded, in the same steps, each shard on its thread."""
    steps = engine.steps or []
    traces = translate(engine, copy)
    shards, policy = copy._shards, copy._planner.policy
    messages = sum(len(step.live) - 1 for step in steps)
    ticks = np.zeros((len(shards), messages), np.int64)
    ticks_of_step, cpu_ns = np.zeros((2, len(steps), len(shards)), np.int64)
    numbers = range(len(shards))

    def apply(number: int, at: int, first: int, live: NDArray[np.int64]) -> None:
        shard = shards[number]
        shard.out.count[0] = 0
        done = first - steps[0].first_seq
        log = ticks[number, done : done + len(live) - 1]
        start = time.thread_time_ns()
        apply_known(
            shard.subscriptions,
            policy,
            shard.scratch,
            shard.out,
            shard.counters,
            first,
            live,
            traces[number],
            done,
            log,
        )
        cpu_ns[at, number] = time.thread_time_ns() - start
        ticks_of_step[at, number] = log.sum()

    apply(0, 0, steps[0].first_seq, steps[0].live[:1])  # no message: it compiles or loads the kernel
    most = max(int(shard.out.count[0]) for shard in engine._shards)
    for shard in shards:
        warm(shard, 2 * most + 4096)
    with ThreadPoolExecutor(len(shards)) as pool:
        start = time.perf_counter()
        for at, step in enumerate(steps):
            policy.target_size[:] = step.target_size
            list(pool.map(lambda number: apply(number, at, step.first_seq, step.live), numbers))  # noqa: B023
        wall = time.perf_counter() - start
    return Floor(ticks, work_ns(ticks_of_step, cpu_ns), wall)


def warm(shard: Shard, changes: int) -> None:
    """Let the copy's room for changes have memory: the engine's has been in use since the registration."""
    for column in shard.out[:-1]:
        column[:changes] = 0


def translate(engine: Engine, copy: Engine) -> list[Trace]:
    """The recordings of the engine's shards as recordings of the copy's shards."""
    recorded = [shard.trace for shard in engine._shards]
    messages = int(recorded[0].control[TRACE_STEPS])
    hits, refills = [], []
    for shard, trace in zip(engine._shards, recorded, strict=True):
        count, searches, entries = (int(trace.control[at]) for at in (TRACE_HITS, TRACE_REFILLS, TRACE_ENTRIES))
        ends = trace.steps[:messages]
        slots = shard.slot_of_row[trace.rows[:count]]
        hits.append((_messages_of(ends[:, 0]), copy._home[slots], copy._row[slots], trace.scores[:count]))
        slots = shard.slot_of_row[trace.refill_rows[:searches]]
        lengths = np.diff(trace.refill_ends[:searches], prepend=0)
        of_search = np.repeat(np.arange(searches), lengths)
        columns = (_messages_of(ends[:, 1]), copy._home[slots], copy._row[slots], trace.refill_thetas[:searches])
        refills.append((columns, lengths, of_search, trace.entry_scores[:entries], trace.entry_stamps[:entries]))
    return [_trace_of(number, messages, hits, refills) for number in range(len(copy._shards))]


def _messages_of(ends: Array) -> Array:
    """For rows that lie message after message: the number of each one's message."""
    return np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))


def _trace_of(number: int, messages: int, hits: list[Any], refills: list[Any]) -> Trace:
    """What concerns one shard of the copy, message after message."""
    message, row, score = _chosen(number, hits)
    order = np.argsort(message, kind="stable")
    refill_message, refill_row, theta = _chosen(number, [refill[0] for refill in refills])
    lengths, scores, stamps = [], [], []
    for (_, home, _, _), length, of_search, entry_scores, entry_stamps in refills:
        mine = home == number
        lengths.append(length[mine])
        scores.append(entry_scores[mine[of_search]])
        stamps.append(entry_stamps[mine[of_search]])
    length = np.concatenate(lengths)
    starts = np.cumsum(length) - length
    refill_order = np.argsort(refill_message, kind="stable")
    ends = np.cumsum(length[refill_order])
    # Entry i of the j-th search in the new order stood i places after the old start of that search.
    shift = np.repeat(starts[refill_order] - (ends - length[refill_order]), length[refill_order])
    places = np.arange(len(shift)) + shift
    steps = np.empty((messages, 2), np.int64)
    steps[:, 0] = np.cumsum(np.bincount(message, minlength=messages))
    steps[:, 1] = np.cumsum(np.bincount(refill_message, minlength=messages))
    return Trace(
        control=no_trace().control,
        rows=np.ascontiguousarray(row[order]),
        scores=np.ascontiguousarray(score[order]),
        steps=steps,
        refill_rows=np.ascontiguousarray(refill_row[refill_order]),
        refill_thetas=np.ascontiguousarray(theta[refill_order]),
        refill_ends=ends.astype(np.int64),
        entry_scores=np.concatenate(scores)[places],
        entry_stamps=np.concatenate(stamps)[places],
    )


def _chosen(number: int, parts: list[Any]) -> tuple[Array, Array, Array]:
    """Message, row and value of what lies in one shard of the copy."""
    chosen = [
        (message[mine], row[mine], value[mine]) for message, home, row, value in parts for mine in [home == number]
    ]
    message, row, value = (np.concatenate(columns) for columns in zip(*chosen, strict=True))
    return message, row, value


def differing(engine: Engine, copy: Engine) -> int:
    """Subscriptions whose buffer or threshold differs: a floor that does something else is none."""
    slots = engine._registry.slots()
    return sum(_differing(engine, copy, slots[start : start + CHUNK]) for start in range(0, len(slots), CHUNK))


def _differing(engine: Engine, copy: Engine, slots: Array) -> int:
    ours, theirs = (
        capture.save_subscriptions(each._shards, each._home[slots], each._row[slots], engine.newest_seq)
        for each in (engine, copy)
    )
    same = ours["thetas"] == theirs["thetas"]
    a, b = ours["entry_offsets"], theirs["entry_offsets"]
    names = ("entry_scores", "entry_seqs")
    if not (np.array_equal(a, b) and all(np.array_equal(ours[name], theirs[name]) for name in names)):
        for i in np.flatnonzero(same).tolist():
            pairs = ((ours[name][a[i] : a[i + 1]], theirs[name][b[i] : b[i + 1]]) for name in names)
            same[i] = all(np.array_equal(x, y) for x, y in pairs)
    return int(np.count_nonzero(~same))
