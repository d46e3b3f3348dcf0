"""A subscription partition: subscription index and result buffers of its share (paper 7.2, subscription bolts).

A batch runs through these stages; each takes columns and gives columns:

    remove         who leaves (stream 3)
    disseminate    Messages (3) -> Hits, each pair in the one partition that counts it
    take           Hits, Newcomers (3) -> expiry, offers -> Requests (5): who is short at the end, and who is new
    load           Answers (7) -> buffers, thresholds -> changes of lists, Notices, Copies
    receive        Notices, Copies: before the next batch is disseminated (`tenants`)

All are deterministic, in what they send and in which order: a batch that is done again on the state before it gives
the same. Between `take` and `load` part of the state is the batch's own; snapshots are taken between batches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearcast import capture, state
from nearcast.changes import ChangeColumns
from nearcast.kernels import batchwise, layout
from nearcast.kernels.report import E_NUMBER
from nearcast.space import Space
from nearcast.spark.distribution import Mechanism
from nearcast.spark.topology.clock import Tick
from nearcast.spark.topology.columns import Rows
from nearcast.spark.topology.streams import Answers, Copies, Hits, Messages, Newcomers, Notices, Requests
from nearcast.spark.topology.tenants import NO_ROWS, Tenants
from nearcast.trim import STRIDE
from nearcast.tuning import Tuning

PAIRS = 1 << 33
"""Pairs that a batch may find here."""


class Outcome(NamedTuple):
    """What a batch did to the lists at home here, and what others must know of it."""

    changes: ChangeColumns  # `subscription` is the registration number
    copies: Copies
    notices: Notices


class SubscriptionPartition(Tenants):
    """Partition `number` of a mechanism."""

    def __init__(self, number: int, mechanism: Mechanism, space: Space, tuning: Tuning | None = None) -> None:
        super().__init__(number, mechanism, space, tuning)
        take = self.arenas.take
        self._risen = take("risen", np.uint32, PAIRS)
        self._pairs = (
            take("pair_rows", np.uint32, PAIRS),
            take("pair_sources", np.uint32, PAIRS),
            take("pair_scores", np.float32, PAIRS),
        )
        self._trimmed: int | None = None  # up to here the calendar's memory has been given back
        self._waiting = NO_ROWS  # rows short of entries, then new ones
        self._fresh = np.zeros(0, np.bool_)
        self._moved = NO_ROWS

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

    def _index(self, rows: Rows) -> None:
        """Enter them into the subscription index."""
        s, policy = self.subscriptions, self._planner.policy
        batchwise.index_rows(s, self.postings, policy, rows)
        self._pack_lists_of(rows)

    def _requests(self, rows: Rows) -> Requests:
        b, ks = self.batch(rows), self.subscriptions.u32[rows, layout.S_K]
        ranks = self._planner.policy.target_rank[ks].astype(np.int64)
        homes = np.full(len(rows), self.number, np.int32)
        return Requests(b.numbers, homes, self._x[rows], self._y[rows], b.alpha, ranks, b.offsets, b.terms, b.weights)

    def _trim(self) -> None:
        """The calendar is a ring of addresses: the memory of expired messages goes back in strides."""
        live = self.tick.live
        if self._trimmed is None:  # the partition may be younger than the stream
            self._trimmed = self.tick.expired
        if live - self._trimmed >= STRIDE:
            self.arenas.release("due", self._trimmed, live, 1, state.SLOTS)
            self._trimmed = live
