"""The IR-tree of Cong, Jensen and Wu (PVLDB 2009), the paper's message index (sections 4 and 8.1.1).

An R-tree over the points of the live messages in which every node carries an inverted file: for each term below it,
the child entries that have it and the maximum weight below each. This class only checks, casts and grows; the work is
in the `irtree_*` modules beside it. Departures from the paper that it comes from:
- Entries leave first-in first-out. Boxes and maxima are exact after every removal; a thin node is merged into a sibling
  instead of having its entries inserted anew.
- Inverted files are hash tables in memory rather than lists on disk; there is no text similarity in choosing a
  subtree (that is the DIR-tree).
- A leaf's inverted file is the only copy of its messages' words.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearcast.baselines import irtree_check, irtree_expire, irtree_insert, irtree_pack, irtree_search
from nearcast.baselines.irtree_state import (
    EMPTY,
    FIRST,
    NEED_NODES,
    NEED_POSTINGS,
    NEXT,
    NODE_END,
    ROOT,
    grown,
    new_state,
    with_ring_for,
)
from nearcast.errors import InvalidInput
from nearcast.message_index import MessageIndex

MIN_FANOUT, MAX_FANOUT = 4, 128
PACK_FILL = 0.8
"""How full bulk loading packs a node: some room, or the first insertions would split every one of them."""

COST_SEARCH, COST_NODE, COST_ENTRY = 15_000, 600, 60
"""What a search costs, and each node and entry that it looks at: counted, in the units of `kernels.refill` (1 ns)."""


def _cast(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """The one form that kernels are compiled for: contiguous, writable, of this type. Another would compile anew."""
    return np.require(values, dtype, ["C", "A", "W"])


class Work(NamedTuple):
    """What all searches have done so far."""

    searches: int
    nodes_visited: int
    entries_scored: int


class IRTree(MessageIndex):
    """A message index: the best messages of a window for a place and some words."""

    def __init__(self, radius: float, max_dist: float, fanout: int = 32, pack_from: int = 4096) -> None:
        """`radius` 0 is the plane. A batch of at least `pack_from` messages for an empty index is bulk loaded."""
        if not MIN_FANOUT <= fanout <= MAX_FANOUT:
            raise InvalidInput("fanout", f"an IR-tree's nodes take {MIN_FANOUT} to {MAX_FANOUT} children, not {fanout}")
        self.radius = float(radius)
        self.max_dist = float(max_dist)
        self.fanout = fanout
        self.pack_from = pack_from
        self.work = Work(0, 0, 0)
        self._lock = Lock()
        self._cost = 0
        self._state = new_state(fanout)

    def __len__(self) -> int:
        """How many messages are live, those without words included."""
        return int(self._state.meta[NEXT] - self._state.meta[FIRST])

    def add(self, seqs: ArrayLike, points: ArrayLike, offsets: ArrayLike, terms: ArrayLike, weights: ArrayLike) -> None:
        """Index a batch: consecutive `seqs`, embedded `points`, and row i's words at `offsets[i]` to `offsets[i + 1]`.

        A message's terms are distinct. An empty index takes any first seq.
        """
        numbers = _cast(seqs, np.int64)
        if not len(numbers):
            return
        places = _cast(points, np.float64)
        starts = _cast(offsets, np.int64)
        words = _cast(terms, np.uint32)
        values = _cast(weights, np.float32)
        meta = self._state.meta
        first = int(numbers[0])
        if (np.diff(numbers) != 1).any() or first < 0 or (len(self) and first != meta[NEXT]):
            raise InvalidInput("seqs", f"consecutive numbers that follow {meta[NEXT] - 1} are needed")
        if places.shape != (len(numbers), 3) or len(starts) != len(numbers) + 1 or len(words) != len(values):
            raise InvalidInput("points", "a point of 3 coordinates each, one more offset and as many weights as terms")
        if starts[0] < 0 or (np.diff(starts) < 0).any() or starts[-1] > len(words):
            raise InvalidInput("offsets", "they must ascend and stay within the terms")
        if (words == EMPTY).any():
            raise InvalidInput("terms", f"{int(EMPTY)} marks a free place and cannot be a term")
        if not len(self):
            meta[FIRST] = meta[NEXT] = first
        self._state = with_ring_for(self._state, len(self) + len(numbers))
        if len(numbers) >= self.pack_from and self._state.meta[ROOT] < 0:
            self._pack(first, places, starts, words, values)
        else:
            self._grow_through(irtree_insert.insert, places, starts, words, values)

    def expire(self, before_seq: int) -> None:
        """Remove all messages with a lower seq."""
        before = min(int(before_seq), int(self._state.meta[NEXT]))
        while True:
            self._state.meta[[NEED_NODES, NEED_POSTINGS]] = 0
            irtree_expire.expire(self._state, before)
            if not self._grow():
                return

    def search(
        self,
        point: ArrayLike,
        terms: ArrayLike,
        weights: ArrayLike,
        alpha: float | np.float32,
        rank: int,
        first_seq: int,
        last_seq: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Every live message from `first_seq` to `last_seq` with a common word that scores at least the rank-th best.

        Equal scores at the end are all there; with fewer than `rank` matches, all of them. Best first, of equal scores
        the newer first.
        """
        if rank < 1:
            raise InvalidInput("rank", f"a whole number from 1 is needed, not {rank}")
        seqs, scores, theta, visited, scored = irtree_search.search(
            self._state,
            self.radius,
            self.max_dist,
            _cast(point, np.float64),
            _cast(terms, np.uint32),
            _cast(weights, np.float32),
            np.float32(alpha),
            int(rank),
            int(first_seq),
            int(last_seq),
        )
        with self._lock:  # shards search at once
            searches, nodes, entries = self.work
            self.work = Work(searches + 1, nodes + int(visited), entries + int(scored))
            self._cost += COST_SEARCH + COST_NODE * int(visited) + COST_ENTRY * int(scored)
        keep = scores >= theta
        seqs, scores = seqs[keep], scores[keep]
        order = np.lexsort((-seqs, -scores))
        return seqs[order], scores[order]

    def take_cost(self) -> int:
        """What the searches since the last call have cost, in the engine's units."""
        with self._lock:
            cost, self._cost = self._cost, 0
        return cost

    def check(self) -> None:
        """Raise AssertionError if any invariant of the structure does not hold. Slow: for tests."""
        irtree_check.check(self._state)

    def nbytes(self) -> int:
        """Bytes of all arrays, the part that is not in use yet included."""
        state = self._state
        parts = (state.nodes, state.postings, state.messages)
        return int(state.meta.nbytes + sum(array.nbytes for part in parts for array in part))

    def _grow(self) -> bool:
        """Grow by what the last kernel lacked; whether it lacked anything."""
        nodes, postings = (int(need) for need in self._state.meta[[NEED_NODES, NEED_POSTINGS]])
        if not nodes and not postings:
            return False
        self._state = grown(self._state, nodes, postings)
        return True

    def _grow_through(self, kernel: Any, *arguments: Any) -> None:
        """Call a kernel that says how far it came until it lacks nothing more."""
        begin = 0
        while True:
            self._state.meta[[NEED_NODES, NEED_POSTINGS]] = 0
            begin = kernel(self._state, *arguments, begin)
            if not self._grow():
                return

    def _pack(
        self,
        first: int,
        points: NDArray[np.float64],
        offsets: NDArray[np.int64],
        terms: NDArray[np.uint32],
        weights: NDArray[np.float32],
    ) -> None:
        """Bulk load the empty index."""
        count = len(points)
        messages = self._state.messages
        places = np.arange(first, first + count) & (len(messages.leaf) - 1)
        messages.point[places] = points
        messages.words[places] = np.diff(offsets)
        messages.leaf[places] = -1
        meta = self._state.meta
        oldest = meta[FIRST]
        self._state = new_state(self.fanout)._replace(messages=messages)
        meta = self._state.meta
        meta[FIRST], meta[NEXT] = oldest, first + count

        fill = max(2, int(PACK_FILL * self.fanout))
        rows = np.flatnonzero(np.diff(offsets))
        if not len(rows):
            return
        self._state = grown(self._state, 2 * len(rows) // fill + 64, 0)
        order = rows[irtree_pack.tiled(points[rows], fill)]
        begin = 0
        self._grow_through(irtree_pack.pack_leaves, order, np.int64(fill), np.int64(first), offsets, terms, weights)
        while meta[NODE_END] - begin > 1:
            box = self._state.nodes.box[begin : meta[NODE_END]]
            children = begin + irtree_pack.tiled(box[:, :3] + box[:, 3:], fill)
            begin = int(meta[NODE_END])
            self._grow_through(irtree_pack.pack_level, children, np.int64(fill))
        meta[ROOT] = begin
