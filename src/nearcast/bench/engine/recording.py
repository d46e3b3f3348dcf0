"""An engine that notes, step by step, what its shards did and how long it took.

Kernels time themselves by the processor's counter, which runs on while another process has the core: milliseconds, for
messages that take microseconds. So the CPU time of each kernel call is noted as well, and the lesser of both counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.changes import ChangeColumns
from nearcast.engine import Engine, T
from nearcast.intake import MessageBatch
from nearcast.kernels.clock import nanoseconds_per_tick
from nearcast.kernels.layout import Trace
from nearcast.kernels.trace import TRACE_ON, no_trace
from nearcast.state import Arenas
from nearcast.text import TermVectors

ROOM = 1 << 31
"""Hits and buffer entries that a recording has address space for; memory comes as they are written."""

Ticks = NDArray[np.int64]


class Step(NamedTuple):
    """Some messages that all shards took at a time."""

    first_seq: int
    live: NDArray[np.int64]  # as `advance_shard` got it
    target_size: NDArray[np.int32]  # the policy in force, which the planner may change between steps
    logs: list[NDArray[np.int64]]  # of each shard, per message: ticks of arrival and of expiry, hits
    cpu_ns: NDArray[np.int64]  # of each shard: CPU time of the whole step


class RecordedEngine(Engine):
    """The engine as it is, watched. Until `record` it notes nothing."""

    steps: list[Step] | None = None
    intake_ns = 0
    """CPU time spent outside of the shards' steps: messages into window and message index."""
    _step_ns = 0
    _cpu_ns: NDArray[np.int64]

    def record(self, messages: int = 0) -> None:
        """Note steps from now on; of the next `messages` also every update of a buffer."""
        self.steps = []
        self.intake_ns = 0
        for shard in self._shards:
            shard.trace = new_trace(messages) if messages else no_trace()

    def _accept(self, batch: MessageBatch, vectors: TermVectors) -> ChangeColumns:
        start, inside = time.thread_time_ns(), self._step_ns
        changes = super()._accept(batch, vectors)
        self.intake_ns += time.thread_time_ns() - start - (self._step_ns - inside)
        return changes

    def _step(self, first_seq: int, live: NDArray[np.int64], arrives: bool) -> ChangeColumns:
        start = time.thread_time_ns()
        targets = self._planner.policy.target_size.copy()
        changes = super()._step(first_seq, live, arrives)
        if self.steps is not None:
            self.steps.append(Step(first_seq, live, targets, [shard.log for shard in self._shards], self._cpu_ns))
        self._step_ns += time.thread_time_ns() - start
        return changes

    def _on_all(self, run: Callable[[int], T], parallel: bool) -> list[T]:
        self._cpu_ns = cpu_ns = np.zeros(len(self._shards), np.int64)

        def timed(number: int) -> T:
            start = time.thread_time_ns()
            result = run(number)
            cpu_ns[number] = time.thread_time_ns() - start
            return result

        return super()._on_all(timed, parallel)

    def counted(self) -> NDArray[np.int64]:
        """The counters of all shards, added up."""
        total: NDArray[np.int64] = np.sum([shard.counters for shard in self._shards], axis=0)
        return total


def new_trace(messages: int) -> Trace:
    """An empty recording of the updates that so many messages bring to one shard."""
    arenas = Arenas()
    trace = Trace(
        control=np.zeros(5, np.int64),
        rows=arenas.take("rows", np.uint32, ROOM),
        scores=arenas.take("scores", np.float32, ROOM),
        steps=np.zeros((messages, 2), np.int64),
        refill_rows=arenas.take("refill_rows", np.uint32, ROOM),
        refill_thetas=arenas.take("refill_thetas", np.float32, ROOM),
        refill_ends=arenas.take("refill_ends", np.int64, ROOM),
        entry_scores=arenas.take("entry_scores", np.float32, ROOM),
        entry_stamps=arenas.take("entry_stamps", np.uint32, ROOM),
    )
    trace.control[TRACE_ON] = 1
    return trace


def per_message(steps: list[Step]) -> Any:
    """Ticks and hits as int64[shard, message, 3]."""
    shards = range(len(steps[0].logs))
    return np.stack([np.concatenate([step.logs[shard] for step in steps]) for shard in shards])


def work_ns(ticks: NDArray[np.int64], cpu_ns: NDArray[np.int64]) -> float:
    """Nanoseconds of kernel calls, given the ticks and the CPU time of each."""
    return float(np.minimum(ticks * nanoseconds_per_tick(), cpu_ns).sum())
