"""The lists: every live subscription has a posting per keyword where it remembers it, and headers bound them."""

from __future__ import annotations

import numpy as np

from nearcast.invariants.tables import Array, Table, require
from nearcast.kernels import layout as at
from nearcast.kernels.compact import DEAD, LINES, NEEDS, SHARE
from nearcast.kernels.geometry import World
from nearcast.kernels.layout import BLOCK, CELL, Postings
from nearcast.shard import Shard

ROUNDING = 1e-6
"""Codes are decoded in float32."""


def check(t: Table, shard: Shard, world: World, words: int) -> None:
    """Postings, dead postings and headers of all lists."""
    heads = shard.postings.lists[:words].astype(np.int64)
    check_heads(heads)
    require(t.term < words, "subscription row {} has a term {} that nobody knows", t.owner, t.term)
    require(
        t.posting < heads[t.term, at.L_COUNT], "row {} remembers a posting past the end of list {}", t.owner, t.term
    )
    to = heads[t.term, at.L_START] + t.posting
    check_postings(t, to, shard, world)
    members = np.zeros(heads[:, at.L_COUNT].sum(), np.int64)
    starts = np.cumsum(heads[:, at.L_COUNT]) - heads[:, at.L_COUNT]
    np.add.at(members, starts[t.term] + t.posting, 1)
    everything, lists = places_of(heads)
    require(members < 2, "posting {} of list {} belongs to two subscriptions", everything, lists)
    dead = members == 0
    need = column(shard.postings.halves, at.H_NEED, everything)
    sentence = "posting {} of list {} belongs to nobody and can be met, or to somebody and cannot"
    require((need == DEAD) == dead, sentence, everything, lists)
    short = heads[lists, at.L_CAPACITY] <= BLOCK
    require(~(dead & short), "posting {} of the short list {} is dead", everything, lists)
    for term in np.flatnonzero((heads[:, at.L_CAPACITY] > BLOCK) & (heads[:, at.L_CELLS] == 0)).tolist():
        start, count, capacity = (int(heads[term, c]) for c in (at.L_START, at.L_COUNT, at.L_CAPACITY))
        here = np.arange(start, start + count)
        of_block = shard.postings.block[here // CELL, :, here // BLOCK % BLOCK]
        check_headers(shard.postings, of_block, here, f"block of list {term}")
        if capacity >= CELL:
            check_headers(shard.postings, shard.postings.cell[here // CELL], here, f"cell of list {term}")


def check_heads(heads: Array) -> None:
    """Counts, capacities and where lists may begin."""
    term = np.arange(len(heads))
    capacity, count, start = heads[:, at.L_CAPACITY], heads[:, at.L_COUNT], heads[:, at.L_START]
    require(count <= capacity, "list {} holds {} postings in room for {}", term, count, capacity)
    require((capacity & (capacity - 1)) == 0, "list {} has a capacity of {}, no power of two", term, capacity)
    require((count > 0) | (capacity == 0) | (capacity > BLOCK), "list {} is empty and holds memory", term)
    align = np.where(capacity > BLOCK, np.minimum(capacity, CELL), 1)
    require(start % align == 0, "list {} of capacity {} begins at {}", term, capacity, start)
    long = capacity > BLOCK
    require(~long | (heads[:, at.L_PACKED] <= count), "list {} has more packed postings than postings", term)
    require((heads[:, at.L_CELLS] == 0) | long, "list {} is short and has cells", term)


def places_of(heads: Array) -> tuple[Array, Array]:
    """All postings in use, and the list of each."""
    counts = heads[:, at.L_COUNT]
    lists = np.repeat(np.arange(len(heads)), counts)
    offsets = np.arange(len(lists)) - np.repeat(np.cumsum(counts) - counts, counts)
    return heads[lists, at.L_START] + offsets, lists


def column(codes: Array, first: int, postings: Array) -> Array:
    """A column of these postings' blocks."""
    values: Array = codes[postings // BLOCK, first + postings % BLOCK]
    return values


def share_up(values: Array) -> Array:
    """Codes of values in [0, 1], rounded up. A unit vector's length can be above 1 in the last bit."""
    codes: Array = np.minimum(np.ceil(values * SHARE), SHARE)
    return codes


def check_postings(t: Table, to: Array, shard: Shard, world: World) -> None:
    """Each posting says what its subscription's row says, in codes that are rounded to the safe side."""
    s, p = shard.subscriptions, shard.postings
    alpha, theta = s.f32[t.owner, at.S_ALPHA].astype(np.float64), s.f32[t.owner, at.S_THETA].astype(np.float64)
    require(
        p.owner[to] == t.owner, "row {}: the posting of its term {} belongs to row {}", t.owner, t.term, p.owner[to]
    )
    side = 2.0 * world.radius if world.radius > 0.0 else max(world.xmax - world.xmin, world.ymax - world.ymin)
    lines = np.clip(np.floor((s.f64[t.owner, :3] + world.radius) / (side / LINES) + 0.5), 0, LINES)
    expected = {
        "taste": (column(p.eights, at.Q_TASTE, to), share_up((1.0 - alpha) * t.weight)),
        "rest": (column(p.eights, at.Q_REST, to), share_up((1.0 - alpha) * np.sqrt(t.later_squares))),
        "need": (column(p.halves, at.H_NEED, to), np.floor((theta - alpha + 1.0) * NEEDS)),
        "far": (column(p.eights, at.Q_FAR, to), np.floor(alpha * SHARE)),
        "x": (column(p.halves, at.H_X, to), lines[:, 0]),
        "y": (column(p.halves, at.H_Y, to), lines[:, 1]),
        "z": (column(p.halves, at.H_Z, to), lines[:, 2]),
        "number of later terms": (column(p.eights, at.Q_LATER, to), np.minimum(t.later_count, 255)),
        "fingerprint of later terms": (column(p.words, at.O_LATER, to), t.later_prints),
    }
    if p.paper.size:
        expected["sum of later weights"] = (p.paper[at.P_SUM, to], t.later_sum.astype(np.float32))
        expected["greatest later weight"] = (p.paper[at.P_MAX, to], t.later_max.astype(np.float32))
    for name, (got, want) in expected.items():
        require(got == want, f"row {{}}, term {{}}: {name} is {{}}, not {{}}", t.owner, t.term, got, want)
    if p.paper.size:
        inner = p.paper[at.P_INNER, to]
        sound = (inner >= 0) & (inner <= world.max_dist)
        require(sound, "row {}, term {}: distance to boundary {}", t.owner, t.term, inner)


def check_headers(p: Postings, header: Array, here: Array, what: str) -> None:
    """The header of each of these postings: greatest taste, rest and number of later keywords, least need and far, and
    the box of the live ones.
    """
    live = column(p.halves, at.H_NEED, here) != DEAD
    need = column(p.halves, at.H_NEED, here) / NEEDS - 1.0
    most = {
        "taste": (at.K_TASTE, column(p.eights, at.Q_TASTE, here) / SHARE),
        "rest": (at.K_REST, column(p.eights, at.Q_REST, here) / SHARE),
        "number of later keywords": (at.K_LATER, column(p.eights, at.Q_LATER, here)),
    }
    for name, (row, value) in most.items():
        fits = header[:, row] >= np.float32(value) - ROUNDING
        require(~live | fits, f"the {what} at {{}} has a {name} too low", here)
    least = {"need": (at.K_NEED, need), "far": (at.K_FAR, column(p.eights, at.Q_FAR, here) / SHARE)}
    for name, (row, value) in least.items():
        fits = header[:, row] <= np.float32(value) + ROUNDING
        require(~live | fits, f"the {what} at {{}} has a {name} too high", here)
    starts = np.flatnonzero(np.append(True, (header[1:] != header[:-1]).any(axis=1)))
    lowest = np.minimum.reduceat(need, starts)
    require(header[starts, at.K_NEED] == lowest, f"the {what} at {{}} has a need too low", here[starts])
    for c in range(3):
        low, high = header[:, at.K_BOX + c], header[:, at.K_BOX + 3 + c]
        line = column(p.halves, at.H_X + BLOCK * c, here)
        require(~live | ((low <= line) & (line <= high)), f"the {what} at {{}} has a box without it", here)
