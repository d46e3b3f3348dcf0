"""The paper's order of a list: cells and groups cover its packed part, and their statistics bound their members."""

from __future__ import annotations

import numpy as np

from nearcast.invariants.tables import Array, Table, require
from nearcast.kernels import layout as at
from nearcast.kernels.layout import BLOCK, Postings, Subscriptions
from nearcast.shard import Shard
from nearcast.space import Space

ROUNDING = 1e-6
"""Statistics are computed in float32, thresholds compared with slack for it."""

LOWEST_ALPHA = 1e-3
"""Below it Lemma 'cell pruning' makes no claim (`kernels.postings.spatial_threshold`)."""


def check(t: Table, shard: Shard, space: Space, words: int) -> None:
    """All lists that have cells."""
    heads = shard.postings.lists[:words].astype(np.int64)
    for term in np.flatnonzero(heads[:, at.L_CELLS] > 0).tolist():
        try:
            check_list(t, shard, space, heads[term], term)
        except AssertionError as error:
            raise AssertionError(f"list {term}: {error}") from error


def check_list(t: Table, shard: Shard, space: Space, head: Array, term: int) -> None:
    """One of them."""
    s, p = shard.subscriptions, shard.postings
    start, packed = int(head[at.L_START]), int(head[at.L_PACKED])
    cells = p.rows_u32[int(head[at.L_ROWS]) :][: int(head[at.L_CELLS])].astype(np.int64)
    groups = p.rows_u32[int(head[at.L_ROWS] + head[at.L_CELLS]) :][: int(head[at.L_GROUPS])].astype(np.int64)
    partition(cells[:, at.D_FIRST], cells[:, at.D_END], len(groups), "cells' groups")
    partition(groups[:, at.G_FIRST], groups[:, at.G_END], packed, "groups' postings")
    tail = p.paper[at.P_INNER, start + packed : start + int(head[at.L_COUNT])]
    assert not tail.any(), "a posting that is in no cell has a distance from its boundary"

    mine = (t.term == term) & (t.posting < packed)
    place = t.posting[mine]
    group = np.searchsorted(groups[:, at.G_FIRST], place, side="right") - 1
    cell = np.searchsorted(cells[:, at.D_FIRST], group, side="right") - 1
    members = Members(s, p, t, mine, start)
    row = int(head[at.L_ROWS])
    check_cells(members, p, row + cell, space)
    members.bounded(p.rows_f32[row + int(head[at.L_CELLS]) + group], "its group")
    for back in range(int(group_blocks(groups))):  # the statistics of the rest of a group hold for all that follows
        block = place // BLOCK - back
        inside = (block >= 0) & (block * BLOCK >= groups[group, at.G_FIRST])
        members.bounded(p.suffix[start // BLOCK + np.maximum(block, 0)], "the rest of its group", inside)


def group_blocks(groups: Array) -> int:
    """The blocks of the longest group."""
    return int(((groups[:, at.G_END] - groups[:, at.G_FIRST]) // BLOCK).max(initial=0)) + 1


def partition(first: Array, end: Array, total: int, what: str) -> None:
    """Ranges that follow one another from 0 to `total`."""
    ends = [0, *end.tolist()]
    assert first.tolist() == ends[:-1] and ends[-1] == total, f"{what} do not cover 0..{total}"
    assert (end > first).all(), f"one of the {what} is empty"


class Members:
    """What a list's packed postings stand for."""

    def __init__(self, s: Subscriptions, p: Postings, t: Table, mine: Array, start: int) -> None:
        self.owner = t.owner[mine]
        self.at = start + t.posting[mine]
        self.theta, self.alpha = s.f32[self.owner, at.S_THETA], s.f32[self.owner, at.S_ALPHA]
        self.weight = t.weight[mine]
        self.rest = np.sqrt(t.later_squares[mine])
        self.most = np.maximum(self.weight, t.later_max[mine])
        self.points = s.f64[self.owner, :3]

    def bounded(self, stats: Array, by: str, where: Array | None = None) -> None:
        """Theorem 'group lower bound': least threshold, range of alpha, greatest weight, rest and maximum."""
        skip = np.zeros(len(self.owner), bool) if where is None else ~where
        fits = {
            "threshold": stats[:, at.G_THETA] <= self.theta,
            "least alpha": stats[:, at.G_LOW] <= self.alpha,
            "greatest alpha": stats[:, at.G_HIGH] >= self.alpha,
            "weight": stats[:, at.G_WEIGHT] >= self.weight - ROUNDING,
            "length of later terms": stats[:, at.G_REST] >= self.rest - ROUNDING,
            "maximum of later weights": stats[:, at.G_MAX] >= self.most - ROUNDING,
        }
        for name, right in fits.items():
            require(right | skip, f"row {{}}: the {name} is not bounded by {by}", self.owner)


def check_cells(members: Members, p: Postings, rows: Array, space: Space) -> None:
    """A cell's box holds its places, its spatial threshold is the least, nobody is nearer to its boundary than said."""
    box = p.rows_f32[rows]
    slack = space.chord_slack
    for c in range(3):
        value = members.points[:, c]
        inside = (box[:, c] <= value + slack) & (value - slack <= box[:, 3 + c])
        require(inside, "row {} lies outside of its cell's box", members.owner)
    steep = members.alpha >= np.float32(LOWEST_ALPHA)
    alpha, theta = members.alpha.astype(np.float64), members.theta.astype(np.float64)
    least = np.where(steep, (theta - (1.0 - alpha)) / np.where(steep, alpha, 1.0), -1.0)
    require(box[:, at.D_SPATIAL] <= least, "row {} meets its threshold where its cell is skipped", members.owner)
    if space.world.radius == 0.0:
        inner = p.paper[at.P_INNER, members.at]
        near = edge_distance(space, members.points, box)
        require(inner <= near + slack, "row {} is nearer to its cell's boundary than {}", members.owner, inner)


def edge_distance(space: Space, points: Array, box: Array) -> Array:
    """From each point of a plane to its box's nearest edge; the plane's own border is none, as nothing is behind it."""
    world = space.world
    width, height = np.float32(world.xmax - world.xmin), np.float32(world.ymax - world.ymin)
    edges = [
        np.where(box[:, 0] > 0.0, points[:, 0] - box[:, 0], np.inf),
        np.where(box[:, 1] > 0.0, points[:, 1] - box[:, 1], np.inf),
        np.where(box[:, 3] < width, box[:, 3] - points[:, 0], np.inf),
        np.where(box[:, 4] < height, box[:, 4] - points[:, 1], np.inf),
    ]
    nearest: Array = np.min(edges, axis=0)
    return nearest
