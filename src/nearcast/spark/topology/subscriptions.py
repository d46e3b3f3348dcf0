"""A subscription partition: subscription index and result buffers of its share (paper 7.2, subscription bolts).

A subscription is at home in one partition, which alone holds its buffer; where else a mechanism needs it, it is a guest
with a threshold only, there to be found. A batch runs through these stages; each takes columns and gives columns:

    remove         who leaves (stream 3)
    disseminate    Messages (3) -> Hits, each pair in the one partition that counts it
    take           Hits, Newcomers (3) -> expiry, offers -> Requests (5): who is short at the end, and who is new
    load           Answers (7) -> buffers, thresholds -> changes of lists, Notices, Copies
    receive        Notices, Copies: before the next batch is disseminated

Home and guest are told apart by the column `homes` alone. All stages are deterministic, so a batch that is done again
on the state before it gives the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np

from nearcast import capture, state
from nearcast.changes import ChangeColumns
from nearcast.kernels import batchwise, layout
from nearcast.kernels import shard as kernels
from nearcast.kernels.report import E_NUMBER
from nearcast.policy import Planner
from nearcast.shard import MANY, Array, Shard
from nearcast.snapshot import Contents
from nearcast.space import Space
from nearcast.spark.distribution import Mechanism, SubscriptionBatch
from nearcast.spark.topology.clock import Tick
from nearcast.spark.topology.columns import Rows
from nearcast.spark.topology.placement import place
from nearcast.spark.topology.streams import Answers, Copies, Hits, Messages, Newcomers, Notices, Requests
from nearcast.trim import STRIDE
from nearcast.tuning import Tuning

PAIRS = 1 << 33
"""Pairs that a batch may find here."""

NO_ROWS = np.zeros(0, np.int64)


class Outcome(NamedTuple):
    """What a batch did to the lists at home here, and what others must know of it."""

    changes: ChangeColumns  # `subscription` is the registration number
    copies: Copies
    notices: Notices


class SubscriptionPartition(Shard):
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
        self._risen = take("risen", np.uint32, PAIRS)
        self._pairs = (
            take("pair_rows", np.uint32, PAIRS),
            take("pair_sources", np.uint32, PAIRS),
            take("pair_scores", np.float32, PAIRS),
        )
        self._trimmed = 0
        self.tick = Tick(0, 0, 0, -1)
        self._waiting = NO_ROWS  # rows short of entries, then new ones
        self._fresh = np.zeros(0, np.bool_)
        self._moved = NO_ROWS

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

    # --- A batch ---

    def remove(self, tick: Tick, leaving: Rows) -> None:
        """The batch begins. Of those who leave some are here; the lists of those at home leave with them."""
        self.tick = tick
        control = self.messages.control
        control[layout.A_FIRST], control[layout.A_NEXT] = tick.live, tick.newest + 1
        self.out.count[0] = 0
        self._drop(self._present(leaving))

    def disseminate(self, messages: Messages) -> Hits:
        """Stream 3 against the index: the pairs that this partition counts."""
        points = self.space.embed(messages.x, messages.y)
        count = batchwise.disseminate_batch(
            self.subscriptions, self.postings, self._planner.policy, self.scratch, points, messages.offsets,
            messages.terms, messages.weights, *self._pairs, self.counters,
        )  # fmt: skip
        rows, sources, scores = (column[:count] for column in self._pairs)
        counted = np.ones(count, np.bool_)
        shared = np.flatnonzero(self._holders[rows] > 1)  # whoever stands here alone meets its messages here alone
        if len(shared):
            distinct, pair_rows = np.unique(rows[shared], return_inverse=True)
            s_rows, m_rows = pair_rows.astype(np.int64), sources[shared].astype(np.int64)
            owners = self.mechanism.owners(self.batch(distinct.astype(np.int64)), messages.batch(), s_rows, m_rows)
            counted[shared] = owners == self.number
        rows = rows[counted].astype(np.int64)
        return Hits(self.number_of(rows), self._homes[rows], messages.seqs[sources[counted]], scores[counted])

    def take(self, hits: Hits, newcomers: Newcomers) -> Requests:
        """Expiry and offers, and who must ask for a list: stream 5. `hits` of all partitions, in any order."""
        rows, seqs, scores = self._row_of[hits.numbers] - np.uint32(1), hits.seqs, hits.scores
        if (np.diff(seqs) < 0).any():
            order = np.argsort(seqs, kind="stable")
            rows, seqs, scores = rows[order], seqs[order], scores[order]
        short, rises = batchwise.take_batch(
            self.subscriptions, self.postings, self._planner.policy, self.scratch, rows, seqs, scores,
            self.tick.expired, self.tick.live, self.tick.newest, self._risen, self.counters,
        )  # fmt: skip
        self._moved = self._risen[:rises].astype(np.int64)
        pending = self.scratch.pending[:short].astype(np.int64)
        pending = self._in_order(pending)
        fresh = self._enter(newcomers)
        self._waiting = np.concatenate([pending, fresh])
        self._fresh = np.arange(len(self._waiting)) >= len(pending)
        return self._requests(self._waiting if self.tick.window else pending)

    def load(self, answers: Answers) -> Outcome:
        """Stream 7: buffers and thresholds. Then the batch is over: its changes, and what others must know."""
        tick, s, policy = self.tick, self.subscriptions, self._planner.policy
        rows = self._row_of[answers.numbers].astype(np.int64) - 1
        first = np.isin(rows, self._waiting[self._fresh])
        expected = self._waiting if tick.window else self._waiting[~self._fresh]
        capture.require(len(rows) == len(expected) and bool(np.isin(rows, expected).all()), "answers to requests")
        batchwise.load_batch(
            s, self.postings, policy, self.scratch, rows, first, answers.thetas, answers.offsets, answers.scores,
            answers.seqs, tick.live, tick.newest, self.counters,
        )  # fmt: skip
        self.counters[layout.N_REFILL_WORK] += int(answers.works.sum())
        events = int(self.scratch.state[0])
        order = np.argsort(self.scratch.touched[:events, E_NUMBER], kind="stable")
        batchwise.report_batch(s, self.scratch, self.out, order, tick.newest, tick.first, tick.live, self.counters)
        fresh = self._waiting[self._fresh]
        batchwise.tell_lists(s, self.out, fresh, tick.newest)
        changes, numbers = self._part()
        self.counters[layout.N_CHANGES] += len(numbers)
        self._index(fresh)
        moved = np.unique(np.concatenate([self._moved, rows]))
        copies, notices = self._settle(self._in_order(np.union1d(moved, fresh)), fresh, self.mechanism)
        self._planner.observe(tick.window, self.counters, tick.newest + 1 - tick.first, tick.live - tick.expired)
        self._trim()
        return Outcome(changes._replace(subscription=numbers), copies, notices)

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

    # --- Inside ---

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

    def _enter(self, new: Newcomers) -> Rows:
        """Rows for new subscriptions, which no message finds before they have a list."""
        rows = np.zeros(new.rows, np.int64)
        batchwise.enter_rows(
            self.subscriptions, self.space.embed(new.x, new.y), self.space.morton(new.x, new.y), new.alphas, new.ks,
            new.numbers.astype(np.uint32), new.offsets, new.terms, new.weights, rows,
        )  # fmt: skip
        self._note(rows, new.numbers, new.x, new.y)
        self._homes[rows], self._holders[rows], self._placed[rows] = self.number, 1, 0
        self._planner.meet(np.unique(new.ks).tolist())
        return rows

    def _note(self, rows: Rows, numbers: Rows, x: Array, y: Array) -> None:
        self._row_of[numbers] = (rows + 1).astype(np.uint32)
        self._x[rows], self._y[rows] = x, y

    def _index(self, rows: Rows) -> None:
        """Enter them into the subscription index."""
        s, policy = self.subscriptions, self._planner.policy
        batchwise.index_rows(s, self.postings, policy, rows)
        self._pack_lists_of(rows)

    def _pack_lists_of(self, rows: Rows) -> None:
        """All lists if many rows are new, else those that need it."""
        if len(rows) >= MANY:
            self._pack(self._planner.policy, self.batch(rows).terms)
        else:
            batchwise.pack_rows(self.subscriptions, self.postings, self._planner.policy, rows, self.counters)

    def _requests(self, rows: Rows) -> Requests:
        b, ks = self.batch(rows), self.subscriptions.u32[rows, layout.S_K]
        ranks = self._planner.policy.target_rank[ks].astype(np.int64)
        homes = np.full(len(rows), self.number, np.int32)
        return Requests(b.numbers, homes, self._x[rows], self._y[rows], b.alpha, ranks, b.offsets, b.terms, b.weights)

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

    def _trim(self) -> None:
        """The calendar is a ring of addresses: the memory of expired messages goes back in strides."""
        live = self.tick.live
        if live - self._trimmed >= STRIDE:
            self.arenas.release("due", self._trimmed, live, 1, state.SLOTS)
            self._trimmed = live

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
        made.messages.control[layout.A_FIRST] = made._trimmed = tick.live
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
