"""The lists: every live subscription has a posting per keyword where it remembers it, and headers bound them."""

from __future__ import annotations

import numpy as np

from nearcast.invariants.tables import Array, Table, require
from nearcast.kernels import layout as at
from nearcast.kernels.geometry import World
from nearcast.kernels.layout import BLOCK, CELL, Postings
from nearcast.shard import Shard


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
    need = column(shard.postings.bound, at.B_NEED, everything)
    sentence = "posting {} of list {} belongs to nobody and can be met, or to somebody and cannot"
    require((need == np.inf) == dead, sentence, everything, lists)
    short = heads[lists, at.L_CAPACITY] <= BLOCK
    require(~(dead & short), "posting {} of the short list {} is dead", everything, lists)
    for term in np.flatnonzero((heads[:, at.L_CAPACITY] > BLOCK) & (heads[:, at.L_CELLS] == 0)).tolist():
        start, count, capacity = (int(heads[term, c]) for c in (at.L_START, at.L_COUNT, at.L_CAPACITY))
        check_headers(shard.postings, shard.postings.block, BLOCK, start, count, f"block of list {term}")
        if capacity >= CELL:
            check_headers(shard.postings, shard.postings.cell, CELL, start, count, f"cell of list {term}")


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


def column(bound: Array, row: int, postings: Array) -> Array:
    """One of the rows B_* of these postings."""
    values: Array = bound[postings // BLOCK, row, postings % BLOCK]
    return values


def check_postings(t: Table, to: Array, shard: Shard, world: World) -> None:
    """Each posting says what its subscription's row says."""
    s, p = shard.subscriptions, shard.postings
    alpha, theta = s.f32[t.owner, at.S_ALPHA], s.f32[t.owner, at.S_THETA]
    share = 1.0 - alpha.astype(np.float64)
    require(
        p.owner[to] == t.owner, "row {}: the posting of its term {} belongs to row {}", t.owner, t.term, p.owner[to]
    )
    expected = {
        "taste": (column(p.bound, at.B_TASTE, to), share * t.weight),
        "rest": (column(p.bound, at.B_REST, to), share * np.sqrt(t.later_squares)),
        "need": (column(p.bound, at.B_NEED, to), theta - alpha),
        "far": (column(p.bound, at.B_FAR, to), alpha.astype(np.float64) / world.max_dist),
        "x": (column(p.bound, at.B_X, to), s.f64[t.owner, 0]),
        "y": (column(p.bound, at.B_Y, to), s.f64[t.owner, 1]),
        "z": (column(p.bound, at.B_Z, to), s.f64[t.owner, 2]),
        "sum of later weights": (p.paper[at.P_SUM, to], t.later_sum),
        "greatest later weight": (p.paper[at.P_MAX, to], t.later_max),
    }
    for name, (got, want) in expected.items():
        want = want.astype(np.float32)
        require(got == want, f"row {{}}, term {{}}: {name} is {{}}, not {{}}", t.owner, t.term, got, want)
    require(
        column(p.later, at.B_LATER, to) == t.later_bits,
        "row {}, term {}: wrong signature of later terms",
        t.owner,
        t.term,
    )
    inner = p.paper[at.P_INNER, to]
    require(
        (inner >= 0) & (inner <= world.max_dist), "row {}, term {}: distance to boundary {}", t.owner, t.term, inner
    )


def check_headers(p: Postings, header: Array, size: int, start: int, count: int, what: str) -> None:
    """A header per `size` postings: greatest taste and rest, least need and far, and the box of the live ones."""
    if count == 0:
        return
    here = np.arange(start, start + count)
    rows = here // size
    bound = p.bound[here // BLOCK, :, here % BLOCK].T
    live = bound[at.B_NEED] < np.inf
    for name, header_column, row in (("taste", at.K_TASTE, at.B_TASTE), ("rest", at.K_REST, at.B_REST)):
        require(~live | (header[rows, header_column] >= bound[row]), f"the {what} at {{}} has a {name} too low", here)
    for name, header_column, row in (("need", at.K_NEED, at.B_NEED), ("far", at.K_FAR, at.B_FAR)):
        require(~live | (header[rows, header_column] <= bound[row]), f"the {what} at {{}} has a {name} too high", here)
    for c in range(3):
        low, high = header[rows, at.K_BOX + c], header[rows, at.K_BOX + 3 + c]
        inside = (low <= bound[at.B_X + c]) & (bound[at.B_X + c] <= high)
        require(~live | inside, f"the {what} at {{}} has a box without it", here)
