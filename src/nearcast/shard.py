"""One shard: a share of the subscriptions with their index, buffers and calendar. A shard runs on one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearcast import state
from nearcast.changes import ChangeColumns
from nearcast.kernels import layout, shard
from nearcast.kernels.layout import MessageIndex, Messages, Policy
from nearcast.kernels.postings import T_ID, T_WEIGHT
from nearcast.kernels.trace import no_trace
from nearcast.text import TermVectors

Array = NDArray[Any]
Part = tuple[ChangeColumns, Array]
"""A shard's changes, and the registration number of each one's subscription."""

Columns = tuple[Array, Array, Array, Array, Array]
"""Of subscriptions: points, Morton codes, alpha, k, registration numbers."""

MANY = 1000
"""From so many subscriptions at once lists are packed in the end, not as they grow."""


class Shard:
    """The thin side of the shard kernels: arrays in, arrays out."""

    def __init__(self, messages: Messages, index: MessageIndex, by_paper: bool) -> None:
        self.arenas = state.Arenas()
        self.messages = messages
        self.index = index
        self.subscriptions = state.subscriptions_state(self.arenas)
        self.postings = state.postings_state(self.arenas, by_paper)
        self.scratch = state.scratch_state(self.arenas)
        self.out = state.changes_state(self.arenas)
        self.slot_of_row = self.arenas.take("slots", np.uint32, state.ROWS)
        self.counters = np.zeros(layout.N_SIZE, np.int64)
        self.trace = no_trace()
        self.log = np.zeros((0, 3), np.int64)

    @property
    def live(self) -> int:
        """Subscriptions registered here."""
        return int(self.subscriptions.control[layout.C_LIVE])

    def bytes(self) -> int:
        """Memory of subscriptions, buffers and their index."""
        control = self.subscriptions.control
        rows = int(control[layout.C_ROWS]) * (64 + 4 + 1 + 4)
        buffers = int(control[layout.C_BUFFER_USED]) * 16
        terms = int(control[layout.C_TERMS_USED]) * 16
        postings = int(control[layout.C_POSTINGS_USED]) * (16 + 4 + layout.K_SIZE * 4 // layout.BLOCK)
        if self.postings.paper.size:
            postings += int(control[layout.C_POSTINGS_USED]) * (3 * 4 + 1) + int(control[layout.C_DIRECTORY_USED]) * 64
        return rows + buffers + terms + postings

    def advance(self, policy: Policy, first_seq: int, first_live: Array, arrives: bool) -> Part:
        """Let messages arrive and expire (see `kernels.shard.advance_shard`)."""
        self.out.count[0] = 0
        self.log = np.empty((len(first_live) - 1, 3), np.int64)
        shard.advance_shard(
            self.subscriptions, self.postings, self.messages, self.index, policy, self.scratch, self.out, self.counters,
            first_seq, first_live, arrives, self.trace, self.log,
        )  # fmt: skip
        return self._part()

    def register(
        self, policy: Policy, columns: Columns, vectors: TermVectors, chosen: Array, rows: Array, slots: Array
    ) -> Part:
        """Register the rows `chosen` of a batch."""
        self.out.count[0] = 0
        many = len(chosen) >= MANY
        self._enrol(policy, columns, vectors, chosen, rows, slots, int(self.messages.control[layout.A_FIRST]), not many)
        if many:
            self._pack(policy, vectors.terms)
        return self._part()

    def _enrol(
        self, policy: Policy, columns: Columns, vectors: TermVectors, chosen: Array, rows: Array, slots: Array,
        first_live: int, pack_now: bool,
    ) -> None:  # fmt: skip
        """Give subscriptions their rows, and their first lists from `first_live` on."""
        shard.register(
            self.subscriptions, self.postings, self.messages, self.index, policy, self.scratch, self.out, self.counters,
            *columns, *vectors, chosen, first_live, int(self.messages.control[layout.A_NEXT]) - 1, rows, pack_now,
        )  # fmt: skip
        self.slot_of_row[rows[chosen]] = slots[chosen]

    def adopt(self, policy: Policy, columns: dict[str, Array], chosen: Array, rows: Array, slots: Array) -> None:
        """Take over subscriptions of a snapshot (see `capture`)."""
        if not len(chosen):
            return
        c, newest = columns, self.messages.control[layout.A_NEXT] - 1
        shard.adopt(
            self.subscriptions, self.postings, policy, self.scratch, c["points"], c["codes"], c["alphas"], c["ks"],
            c["numbers"], c["offsets"], c["terms"], c["weights"], chosen, newest, rows, c["thetas"],
            c["entry_offsets"], c["entry_scores"], c["entry_seqs"],
        )  # fmt: skip
        self.slot_of_row[rows[chosen]] = slots[chosen]
        self._pack(policy, columns["terms"])

    def _pack(self, policy: Policy, terms: Array) -> None:
        shard.pack_lists(self.subscriptions, self.postings, policy, int(terms.max()) + 1, self.counters)

    def unregister(self, policy: Policy, row: int) -> Part:
        """Remove the subscription of a row."""
        self.out.count[0] = 0
        shard.unregister(
            self.subscriptions, self.postings, policy, self.out, self.counters, row,
            self.messages.control[layout.A_NEXT] - 1,
        )  # fmt: skip
        return self._part()

    def _part(self) -> Part:
        """What the last kernel wrote, copied."""
        o, n = self.out, int(self.out.count[0])
        slots = self.slot_of_row[o.row[:n]].astype(np.int64)
        columns = (o.kind, o.message, o.rank, o.score, o.cause)
        return ChangeColumns(o.seq[:n].copy(), slots, *(c[:n].copy() for c in columns)), o.number[:n].astype(np.int64)

    def buffer(self, row: int) -> tuple[Array, Array, Array]:
        """Scores, messages and dominance counters of a subscription's buffer, best first."""
        s = self.subscriptions
        count, capacity = int(s.u32[row, layout.S_COUNT]), int(s.u32[row, layout.S_CAPACITY])
        at = int(s.u32[row, layout.S_BUFFER]) * 4
        newest = int(self.messages.control[layout.A_NEXT]) - 1
        stamps = s.buffer_u32[at + capacity : at + capacity + count].astype(np.int64)
        counters = s.buffer_u16[2 * (at + 2 * capacity) :][:count].copy()
        return s.buffer_f32[at : at + count].copy(), newest - ((newest - stamps) & 0xFFFFFFFF), counters

    def list(self, row: int) -> tuple[Array, Array]:
        """Messages and scores of a subscription's list, best first."""
        scores, seqs, _ = self.buffer(row)
        k = int(self.subscriptions.u32[row, layout.S_K])
        return seqs[:k], scores[:k]

    def vector(self, row: int) -> tuple[Array, Array]:
        """Terms and weights of a subscription."""
        s = self.subscriptions
        first, count = int(s.u32[row, layout.S_TERMS]), int(s.u32[row, layout.S_NTERMS])
        rows = s.terms[first : first + count]
        return rows[:, T_ID].copy(), rows[:, T_WEIGHT].copy().view(np.float32)

    def threshold(self, row: int) -> float:
        """What a message must score to be taken into the buffer."""
        return float(self.subscriptions.f32[row, layout.S_THETA])
