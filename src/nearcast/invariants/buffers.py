"""The buffers: each is the k-skyband of the live matches that score at least theta, with exact counters (paper 6.1)."""

from __future__ import annotations

import numpy as np

from nearcast.invariants.tables import Array, Table, require
from nearcast.invariants.window import LiveMessages
from nearcast.kernels import layout as at
from nearcast.kernels.brute import rank_all
from nearcast.kernels.geometry import World
from nearcast.shard import Shard


def check(t: Table, shard: Shard, world: World, messages: LiveMessages) -> None:
    """Compare every buffer with a skyband by brute force."""
    s = shard.subscriptions
    total = int(s.u32[t.rows, at.S_COUNT].astype(np.int64).sum())
    assert int(s.control[at.C_ENTRIES]) == total, (
        f"the shard counts {s.control[at.C_ENTRIES]} entries, there are {total}"
    )
    count, capacity = s.u32[t.rows, at.S_COUNT], s.u32[t.rows, at.S_CAPACITY]
    require(count <= capacity, "the buffer of row {} holds more than it has room for", t.rows)
    require(~(s.f32[t.rows, at.S_THETA] < 0), "row {} has a negative threshold", t.rows)
    seqs, scores, counts = matching(t, shard, world, messages)
    for i, row in enumerate(t.rows.tolist()):
        found = int(counts[i])
        check_buffer(shard, row, seqs[i, :found], scores[i, :found])


def check_buffer(shard: Shard, row: int, seqs: Array, scores: Array) -> None:
    """One buffer against all that matches, best first."""
    s = shard.subscriptions
    k, theta = int(s.u32[row, at.S_K]), s.f32[row, at.S_THETA]
    got_scores, got_seqs, got_counters = shard.buffer(row)
    what = f"the buffer of row {row} (k = {k}, theta = {theta})"
    assert theta == 0 or len(got_seqs) >= k, f"{what} has underflowed: only {len(got_seqs)} entries"
    dominators = np.tril(seqs[None, :] > seqs[:, None], -1).sum(axis=1)  # newer ones that stand before it
    kept = (scores >= theta) & (dominators < k)
    for name, got, want in (
        ("messages", got_seqs, seqs[kept]),
        ("scores", got_scores, scores[kept]),
        ("dominance counters", got_counters, dominators[kept]),
    ):
        assert got.tolist() == want.tolist(), f"{what} has the {name} {got.tolist()}, not {want.tolist()}"


def matching(t: Table, shard: Shard, world: World, messages: LiveMessages) -> tuple[Array, Array, Array]:
    """All live messages that match each subscription, in the order of lists: messages, scores, how many."""
    s = shard.subscriptions
    n, room = len(t.rows), max(1, messages.end - messages.first)
    spans = np.concatenate([[0], np.cumsum(s.u32[t.rows, at.S_NTERMS].astype(np.int64))])
    seqs, scores, counts = np.full((n, room), -1, np.int64), np.zeros((n, room), np.float32), np.zeros(n, np.int64)
    rank_all(
        world.radius, world.max_dist, np.ascontiguousarray(s.f64[t.rows, :3]), s.f32[t.rows, at.S_ALPHA],
        np.full(n, room, np.int64), spans, t.term.astype(np.uint32), t.weight.astype(np.float32),
        messages.points, messages.offsets, messages.terms, messages.weights, 0, messages.first, seqs, scores, counts,
    )  # fmt: skip
    return seqs, scores, counts
