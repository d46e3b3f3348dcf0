"""Where rows go: each row's partitions, one after the other, and what the paper measures of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.kernels.jit import kernel
from nearcast.spark.distribution.batches import ragged

Partitions = NDArray[np.int32]


class Routes(NamedTuple):
    """Row i goes to partitions[offsets[i] : offsets[i + 1]], distinct, in no order that matters."""

    offsets: NDArray[np.int64]
    partitions: Partitions

    @property
    def rows(self) -> int:
        return len(self.offsets) - 1

    def sources(self) -> NDArray[np.int64]:
        """Beside each partition the row that goes there: what a shuffle needs."""
        return np.repeat(np.arange(self.rows), np.diff(self.offsets))

    def take(self, rows: NDArray[np.int64]) -> Routes:
        """These rows, in this order."""
        offsets, places = ragged(self.offsets, rows)
        return Routes(offsets, self.partitions[places])


def single(partitions: Partitions) -> Routes:
    """Each row to one partition."""
    return Routes(np.arange(len(partitions) + 1), partitions)


def everywhere(rows: int, partitions: Partitions) -> Routes:
    """Each row to all of these."""
    return Routes(np.arange(rows + 1) * len(partitions), np.tile(partitions, rows))


def keep(routes: Routes, kept: NDArray[np.bool_]) -> Routes:
    """Without the entries that are not `kept`."""
    before = np.concatenate(([0], np.cumsum(kept)))
    return Routes(before[routes.offsets], routes.partitions[kept])


def united(rows: int, partitions: int, parts: Sequence[tuple[NDArray[np.int64], Routes]]) -> Routes:
    """Several routes of some of the rows, each with the rows that it speaks of, as one; doubles fall out."""
    sources = [rows_of[routes.sources()] for rows_of, routes in parts]
    row = np.concatenate([np.empty(0, np.int64), *sources])
    goal = np.concatenate([np.empty(0, np.int32), *(routes.partitions for _, routes in parts)])
    return Routes(*_gathered(row, goal, rows, partitions))


def drawn(numbers: NDArray[np.int64], routes: Routes) -> Partitions:
    """One partition of each row, by rendezvous hashing: another row's partitions, or one more, hardly change a draw."""
    return _drawn(numbers, routes.offsets, routes.partitions)


def replication_ratio(assigned: Routes) -> float:
    """How many times a subscription is stored, on average (paper 7.3.1)."""
    return len(assigned.partitions) / assigned.rows if assigned.rows else 0.0


def communication_cost(routed: Routes) -> float:
    """To how many subscription partitions a message is sent, on average (paper 7.3.1)."""
    return len(routed.partitions) / routed.rows if routed.rows else 0.0


@kernel
def _gathered(
    row: NDArray[np.int64], goal: Partitions, rows: int, partitions: int
) -> tuple[NDArray[np.int64], Partitions]:
    """Counting sort by row, then each row without its doubles."""
    starts = np.zeros(rows + 1, np.int64)
    for i in range(len(row)):
        starts[row[i] + 1] += 1
    for i in range(rows):
        starts[i + 1] += starts[i]
    sorted_goal = np.empty(len(goal), np.int32)
    at = starts[:-1].copy()
    for i in range(len(row)):
        sorted_goal[at[row[i]]] = goal[i]
        at[row[i]] += 1
    offsets = np.zeros(rows + 1, np.int64)
    seen = np.full(partitions, -1, np.int64)
    used = 0
    for i in range(rows):
        for place in range(starts[i], starts[i + 1]):
            partition = sorted_goal[place]
            if seen[partition] != i:
                seen[partition] = i
                sorted_goal[used] = partition
                used += 1
        offsets[i + 1] = used
    return offsets, sorted_goal[:used].copy()


@kernel
def _drawn(numbers: NDArray[np.int64], offsets: NDArray[np.int64], partitions: Partitions) -> Partitions:
    """The partition whose hash together with the number is greatest; factors so small that nothing overflows."""
    winners = np.empty(len(numbers), np.int32)
    for i in range(len(numbers)):
        low, high = numbers[i] & 0xFFFFFFF, (numbers[i] >> 28) & 0xFFFFFFF
        best = np.int64(-1)
        for place in range(offsets[i], offsets[i + 1]):
            key = low * 0x2545F491 + high * 0x1B873593 + (np.int64(partitions[place]) + 1) * 0x19D699A5
            key = (key ^ (key >> 31)) & 0x7FFFFFFF
            key = ((key ^ (key >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
            key = ((key ^ (key >> 12)) * 0x297A2D39) & 0x7FFFFFFF
            key = ((key ^ (key >> 15)) << 20) | partitions[place]  # so no two are equal, in whatever order
            if key > best:
                best = key
                winners[i] = partitions[place]
    return winners
