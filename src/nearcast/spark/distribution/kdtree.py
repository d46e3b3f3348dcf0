"""SpatialPartition, the paper's cost-balanced KD-tree (7.3.2, Algorithm SpatialPartition).

A node's cost is C(nd) = N(nd) * p(nd), subscriptions in it times the share of messages in it. A node is split at the
coordinate of one of its subscriptions, x and y in turn, where the children's costs balance (`balance`).

Left open by the paper, and chosen here: what lies on the line goes to the lower side; if all subscriptions of a node
have one x, it is split by y, and one whose subscriptions all stand at one point stays whole: its partitions go to its
sibling, and only if there are not as many places as partitions do some stay empty. Without subscriptions the messages
stand in for them; without messages all costs are equal, and N decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.kernels.jit import kernel
from nearcast.spark.distribution.balance import best_split, shares

Places = NDArray[np.float64]

POWER = 2
"""A leaf's share of both factors of C shrinks (see `balance`)."""


class Tree(NamedTuple):
    """Node 0 is the root; a child below 0 is a leaf: ~child. Without nodes all the space is leaf 0."""

    axis: NDArray[np.int8]  # 0: x, 1: y
    at: NDArray[np.float64]  # up to here, inclusive, it is the lower child's
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    @property
    def leaves(self) -> int:
        return len(self.at) + 1

    def leaf(self, places: Places) -> NDArray[np.int32]:
        """The leaf of each place."""
        return _descend(self.axis, self.at, self.low, self.high, places)

    def depth(self, leaf: int) -> int:
        """How many splits lie above a leaf."""
        child, depth = ~leaf, 0
        while len(self.at) and child != 0:
            child = int(np.flatnonzero((self.low == child) | (self.high == child))[0])
            depth += 1
        return depth

    def cut(self, leaf: int, subscriptions: Places, messages: Places) -> Tree | None:
        """With this leaf in two, the upper half as a new last leaf; None if all who are in it stand at one point."""
        line = best_line(subscriptions, messages, self.depth(leaf), 1, 1)
        if line is None:
            return None
        axis, at = line
        node, new = len(self.at), self.leaves
        low, high = self.low.copy(), self.high.copy()
        low[low == ~leaf] = node
        high[high == ~leaf] = node
        return Tree(
            np.append(self.axis, np.int8(axis)),
            np.append(self.at, at),
            np.append(low, np.int32(~leaf)),
            np.append(high, np.int32(~new)),
        )


def spatial_partition(subscriptions: Places, messages: Places, partitions: int) -> Tree:
    """A tree of so many leaves, or of fewer if there are not so many different places."""
    if not len(subscriptions):
        subscriptions = messages
    nodes: list[tuple[int, float]] = []
    children: list[list[int]] = []
    leaves = 0

    def build(own: Places, heard: Places, k: int, depth: int) -> int:
        nonlocal leaves
        k1, k2 = (k + 1) // 2, k // 2
        line = best_line(own, heard, depth, k1, k2) if k > 1 else None
        if line is None:
            leaves += 1
            return ~(leaves - 1)
        axis, at = line
        node = len(nodes)
        nodes.append(line)
        children.append([0, 0])
        own_low, heard_low = own[:, axis] <= at, heard[:, axis] <= at
        lower, upper = own[own_low], own[~own_low]
        k1, k2 = shares(k, _different(lower, k), _different(upper, k))
        children[node][0] = build(lower, heard[heard_low], k1, depth + 1)
        children[node][1] = build(upper, heard[~heard_low], k2, depth + 1)
        return node

    build(subscriptions, messages, partitions, 0)
    return Tree(
        np.array([axis for axis, _ in nodes], np.int8),
        np.array([at for _, at in nodes], np.float64),
        np.array([low for low, _ in children], np.int32),
        np.array([high for _, high in children], np.int32),
    )


def best_line(own: Places, heard: Places, depth: int, k1: int, k2: int) -> tuple[int, float] | None:
    """The axis and the coordinate that balance the costs for k1 and k2 leaves; None if nothing can be separated."""
    for axis in (depth % 2, (depth + 1) % 2):
        mine, theirs = np.sort(own[:, axis]), np.sort(heard[:, axis])
        ends = np.append(np.flatnonzero(mine[1:] > mine[:-1]), len(mine) - 1)[
            :-1
        ]  # the last of each x but the greatest
        lines = mine[ends]
        n1, p1 = ends + 1, np.searchsorted(theirs, lines, side="right")
        best = best_split(n1, p1, len(mine) - n1, len(theirs) - p1, k1, k2, POWER)
        if best >= 0:
            return axis, float(lines[best])
    return None


def _different(places: Places, enough: int) -> int:
    """How many different places there are, counted up to `enough`."""
    if len(places) < 2:
        return len(places)
    if len(np.unique(places[: 4 * enough], axis=0)) >= enough:
        return enough
    return min(enough, len(np.unique(places, axis=0)))


@kernel
def _descend(
    axis: NDArray[np.int8], at: NDArray[np.float64], low: NDArray[np.int32], high: NDArray[np.int32], places: Places
) -> NDArray[np.int32]:
    leaf = np.zeros(len(places), np.int32)
    if len(at) == 0:
        return leaf
    for i in range(len(places)):
        node = 0
        while node >= 0:
            node = low[node] if places[i, axis[node]] <= at[node] else high[node]
        leaf[i] = ~node
    return leaf
