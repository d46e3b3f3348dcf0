"""Who stands in a subscription partition, at home or as a guest, and how they come and go between batches.

A subscription is at home in one partition, which alone holds its buffer; where else a mechanism needs it, it is a guest
with a threshold only, there to be found. All who hold it know the same of it: threshold, `placed`, its home, how many
they are. Home and guest are told apart by the column `homes` alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np

from nearcast import capture, state
from nearcast.kernels import batchwise, layout
from nearcast.kernels import shard as kernels
from nearcast.policy import Planner
from nearcast.shard import MANY, Array, Shard
from nearcast.snapshot import Contents
from nearcast.space import Space
from nearcast.spark.distribution import Mechanism, SubscriptionBatch
from nearcast.spark.topology.clock import Tick
from nearcast.spark.topology.columns import Rows
from nearcast.spark.topology.placement import place
from nearcast.spark.topology.streams import Copies, Notices
from nearcast.tuning import Tuning

NO_ROWS = np.zeros(0, np.int64)


class Tenants(Shard):
    """Partition `number` of a mechanism. It is a shard whose window is elsewhere: of that it knows the clock only."""

    def __init__(self, number: int, mechanism: Mechanism, space: Space, tuning: Tuning | None = None) -> None:
        tuning = Tuning() if tuning is None else tuning
        nothing = state.Arenas()
        super().__init__(
            state.messages_state(nothing),
            state.index_state(nothing, tuning.head_messages, tuning.segment_messages),
            tuning.order == "paper",
        )
        self.number, self.mechanism, self.space = number, mechanism, space
        self._planner = Planner(space, tuning)
        take = self.arenas.take
        self._row_of = take("row_of", np.uint32, 1 << 32)  # 1 + row, by registration number
        self._x, self._y = take("x", np.float64, state.ROWS), take("y", np.float64, state.ROWS)
        self._homes = take("homes", np.int32, state.ROWS)
        self._holders = take("holders", np.int32, state.ROWS)
        self._placed = take("placed", np.int32, state.ROWS)
        self.tick = Tick(0, 0, 0, -1)

    # --- Who is here ---

    def rows(self) -> Rows:
        """The rows in use, in order of registration."""
        s = self.subscriptions
        used = int(s.control[layout.C_ROWS])
        rows = np.flatnonzero(s.u32[:used, layout.S_NTERMS])
        return self._in_order(rows)

    def homed(self) -> Rows:
        """Those of them whose buffers are here."""
        rows = self.rows()
        mine: Rows = rows[self._homes[rows] == self.number]
        return mine

    def row(self, number: int) -> int | None:
        """The row of a subscription that is at home here."""
        row = int(self._row_of[number]) - 1
        return row if row >= 0 and self._homes[row] == self.number else None

    def number_of(self, rows: Rows) -> Rows:
        """The registration numbers of rows."""
        numbers: Rows = self.subscriptions.u32[rows, layout.S_NUMBER].astype(np.int64)
        return numbers

    def batch(self, rows: Rows) -> SubscriptionBatch:
        """Rows as a mechanism reads them."""
        s = self.subscriptions
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(s.u32[rows, layout.S_NTERMS], out=offsets[1:])
        terms, weights = np.empty(offsets[-1], np.uint32), np.empty(offsets[-1], np.float32)
        batchwise.read_vectors(s, rows, offsets, terms, weights)
        places = np.column_stack([self._x[rows], self._y[rows]])
        alpha, theta = s.f32[rows, layout.S_ALPHA], s.f32[rows, layout.S_THETA]
        return SubscriptionBatch(
            self.number_of(rows), places, alpha, theta, offsets, terms, weights, self._placed[rows]
        )

    # --- Between batches ---

    def receive(self, copies: Copies, notices: Notices) -> None:
        """What homes elsewhere have told, before the next batch is disseminated."""
        rows = self._row_of[notices.numbers].astype(np.int64) - 1
        stays = notices.holders > 0
        staying = rows[stays]
        batchwise.move_thresholds(
            self.subscriptions, self.postings, self._planner.policy, staying, notices.thetas[stays], self.counters
        )
        for column, told in ((self._homes, notices.homes), (self._holders, notices.holders)):
            column[staying] = told[stays]
        self._placed[staying] = notices.placed[stays]
        self._drop(np.concatenate([rows[~stays], self._present(copies.numbers)]))
        self._adopt(copies)

    def adapt(self, mechanism: Mechanism) -> tuple[Copies, Notices]:
        """From now on another mechanism distributes (a partition was split, two were merged): who must go where."""
        sent = self._settle(self.homed(), NO_ROWS, mechanism)
        self.mechanism = mechanism
        return sent

    def _in_order(self, rows: Rows) -> Rows:
        """In order of registration, so that what is sent does not depend on where rows lie."""
        ordered: Rows = rows[np.argsort(self.subscriptions.u32[rows, layout.S_NUMBER], kind="stable")]
        return ordered

    def _present(self, numbers: Rows) -> Rows:
        """The rows of those that are here."""
        rows = self._row_of[numbers].astype(np.int64) - 1
        here: Rows = rows[rows >= 0]
        return here

    def _drop(self, rows: Rows) -> None:
        """Forget these; what is told of their lists is in `out`."""
        self._row_of[self.number_of(rows)] = 0
        batchwise.remove_rows(
            self.subscriptions, self.postings, self._planner.policy, self.out, self.counters, rows, self.tick.newest
        )

    def _note(self, rows: Rows, numbers: Rows, x: Array, y: Array) -> None:
        self._row_of[numbers] = (rows + 1).astype(np.uint32)
        self._x[rows], self._y[rows] = x, y

    def _pack_lists_of(self, rows: Rows) -> None:
        """All lists if many rows are new, else those that need it."""
        if len(rows) >= MANY:
            self._pack(self._planner.policy, self.batch(rows).terms)
        else:
            batchwise.pack_rows(self.subscriptions, self.postings, self._planner.policy, rows, self.counters)

    def _settle(self, rows: Rows, fresh: Rows, after: Mechanism) -> tuple[Copies, Notices]:
        """Place these, which are at home here, where thresholds and mechanism now want them."""
        new = np.isin(rows, fresh)
        if after is self.mechanism:  # most stand nowhere else, and need not
            batch = self.batch(rows)
            concerned = new | (self._holders[rows] > 1) | after.needs_move(batch)
            rows, new = rows[concerned], new[concerned]
        p = place(self.number, self.mechanism, after, self.batch(rows), new)
        self._homes[rows], self._holders[rows], self._placed[rows] = p.homes, p.holders, p.placed
        copied, goals = p.copied
        distinct, places = np.unique(copied, return_inverse=True)
        copies = replace(self._copies(rows[distinct]).take(places), goals=goals)
        guests = copies.goals != copies.homes
        if guests.any():  # a buffer has one place
            sizes = np.where(guests, 0, np.diff(copies.entry_offsets))
            kept = np.repeat(~guests, np.diff(copies.entry_offsets))
            copies = replace(
                copies,
                entry_offsets=np.concatenate([[0], np.cumsum(sizes)]),
                entry_scores=copies.entry_scores[kept],
                entry_seqs=copies.entry_seqs[kept],
            )
        told, told_goals = p.told
        left, left_goals = p.left
        at = np.concatenate([told, left])
        holders = np.concatenate([p.holders[told], np.zeros(len(left), np.int32)])
        notices = Notices(
            self.number_of(rows[at]), np.concatenate([told_goals, left_goals]), p.homes[at], holders, p.placed[at],
            self.subscriptions.f32[rows[at], layout.S_THETA],
        )  # fmt: skip
        batchwise.empty_rows(self.subscriptions, rows[p.stays & (p.homes != self.number)])
        self._drop(rows[~p.stays])
        return copies, notices

    def _copies(self, rows: Rows) -> Copies:
        """All that is known of these rows."""
        c = capture.save_subscriptions([self], np.zeros(len(rows), np.int64), rows, self.tick.newest)
        return Copies.of(
            numbers=c["numbers"], goals=self._homes[rows], homes=self._homes[rows], holders=self._holders[rows],
            placed=self._placed[rows], thetas=c["thetas"], x=self._x[rows], y=self._y[rows], alphas=c["alphas"],
            ks=c["ks"], offsets=c["offsets"], terms=c["terms"], weights=c["weights"],
            entry_offsets=c["entry_offsets"], entry_scores=c["entry_scores"], entry_seqs=c["entry_seqs"],
        )  # fmt: skip

    def _adopt(self, c: Copies) -> None:
        """Take subscriptions in, as guests or with their buffers."""
        rows = np.zeros(c.rows, np.int64)
        kernels.adopt(
            self.subscriptions, self.postings, self._planner.policy, self.scratch, self.space.embed(c.x, c.y),
            self.space.morton(c.x, c.y), c.alphas, c.ks, c.numbers.astype(np.uint32), c.offsets, c.terms, c.weights,
            np.arange(c.rows), self.tick.newest, rows, c.thetas, c.entry_offsets, c.entry_scores, c.entry_seqs,
        )  # fmt: skip
        self._note(rows, c.numbers, c.x, c.y)
        self._homes[rows], self._holders[rows], self._placed[rows] = c.homes, c.holders, c.placed
        self._planner.meet(np.unique(c.ks[c.homes == self.number]).tolist())
        self._pack_lists_of(rows)

    # --- Snapshots, between batches ---

    def save(self) -> Contents:
        """Who is here, with buffers and thresholds; the index is built anew."""
        plain = {"tick": list(self.tick), "counters": self.counters.tolist(), "planner": self._planner.save()}
        copies = self._copies(self.rows())
        return capture.contents({"held": {name: getattr(copies, name) for name in Copies.names()}}, plain)

    @classmethod
    def restored(
        cls, saved: Contents, number: int, mechanism: Mechanism, space: Space, tuning: Tuning | None = None
    ) -> Self:
        """The partition that `save` wrote."""
        made = cls(number, mechanism, space, tuning)
        made.tick = tick = Tick(*map(int, saved.meta["tick"]))
        made.messages.control[layout.A_FIRST] = tick.live
        made.messages.control[layout.A_NEXT] = tick.newest + 1
        made.counters[:] = saved.meta["counters"]
        made._planner.load(saved.meta["planner"])
        copies = Copies.of(**capture.part(saved, "held"))
        names = ("numbers", "alphas", "thetas", "ks", *Copies.cut_by(), "offsets", "entry_offsets")
        columns = {name: getattr(copies, name) for name in names}
        columns |= {"points": space.embed(copies.x, copies.y), "codes": space.morton(copies.x, copies.y)}
        capture.checked_subscriptions(columns, copies.rows, tick.live, tick.newest, state.TERMS)
        made._adopt(copies)
        return made
