"""A message partition: a share of the window, each message stored once, with its message index (paper 7.2).

Message seq of the stream lies in partition seq modulo their number, under a number of its own that is dense, as the
kernels of the window ask (`kernels.partial`). Stream 4 comes in; stream 5 comes in and is answered by stream 6.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from nearcast import capture, state, statistics
from nearcast.kernels import flow, layout, partial
from nearcast.policy import Planner
from nearcast.snapshot import Contents
from nearcast.space import Space
from nearcast.spark.topology.clock import Tick
from nearcast.spark.topology.streams import Messages, Partials, Requests
from nearcast.trim import Trimmer
from nearcast.tuning import Tuning

ROOM = 1 << 34
"""Entries that the answers of one batch may hold."""


class MessagePartition:
    """Partition `number` of `count`."""

    def __init__(self, number: int, count: int, space: Space, tuning: Tuning | None = None) -> None:
        tuning = Tuning() if tuning is None else tuning
        self.number, self.count, self.space = number, count, space
        self.arenas = state.Arenas()
        self.messages = state.messages_state(self.arenas)
        self.index = state.index_state(self.arenas, tuning.head_messages, tuning.segment_messages)
        self.counters = np.zeros(layout.N_SIZE, np.int64)
        self._scratch = state.scratch_state(self.arenas)
        self._scores = self.arenas.take("answered_scores", np.float32, ROOM)
        self._seqs = self.arenas.take("answered_seqs", np.int64, ROOM)
        self._policy = Planner(space, tuning).policy
        self._trimmer = Trimmer(self.messages, self.index, self.arenas, [])

    @property
    def window(self) -> int:
        """How many live messages lie here."""
        return int(self.messages.control[layout.A_NEXT] - self.messages.control[layout.A_FIRST])

    def bytes(self) -> int:
        """Memory of messages and index."""
        return statistics.window_bytes(self.messages, self.index)

    def take_in(self, messages: Messages, tick: Tick) -> None:
        """Stream 4: the messages of a batch that lie here, and what has expired by its end."""
        codes, times = self.space.morton(messages.x, messages.y), messages.times.astype(np.float64)
        points = self.space.embed(messages.x, messages.y)
        flow.add_messages(
            self.messages, self.index, points, codes, times, messages.offsets, messages.terms, messages.weights,
            0, messages.rows,
        )  # fmt: skip
        control = self.messages.control
        capture.require(int(control[layout.A_NEXT]) == self._own(tick.newest + 1), "number of messages")
        control[layout.A_FIRST] = self._own(tick.live)
        self._trimmer.follow()

    def answer(self, requests: Requests) -> Partials:
        """Stream 5 to stream 6: the partial buffer of each request."""
        r, control = requests, self.messages.control
        offsets, works = np.zeros(r.rows + 1, np.int64), np.zeros(r.rows)
        used = partial.answer_batch(
            self.messages, self.index, self._policy, self._scratch, self.space.embed(r.x, r.y), r.alphas, r.ranks,
            r.offsets, r.terms, r.weights, int(control[layout.A_FIRST]), int(control[layout.A_NEXT]) - 1, self.count,
            self.number, self.counters, offsets, works, self._scores, self._seqs,
        )  # fmt: skip
        return Partials(
            r.numbers, r.homes, r.ranks, works, offsets, self._scores[:used].copy(), self._seqs[:used].copy()
        )

    def _own(self, seq: int) -> int:
        """How many messages before `seq` lie here, which is the own number of the next that does."""
        return (seq - self.number + self.count - 1) // self.count

    def save(self) -> Contents:
        """The live messages; the index is built anew."""
        first, next_ = (int(self.messages.control[column]) for column in (layout.A_FIRST, layout.A_NEXT))
        plain = {"first": first, "next": next_, "counters": self.counters.tolist()}
        return capture.contents({"messages": capture.save_messages(self.messages)}, plain)

    @classmethod
    def restored(cls, saved: Contents, number: int, count: int, space: Space, tuning: Tuning | None = None) -> Self:
        """The partition that `save` wrote."""
        made = cls(number, count, space, tuning)
        made.counters[:] = saved.meta["counters"]

        def take_in(columns: capture.MessageColumns, begin: int, end: int) -> None:
            flow.add_messages(made.messages, made.index, *columns, begin, end)

        columns = capture.part(saved, "messages")
        capture.load_messages(made.messages, made.index, saved.meta["first"], columns, state.TERMS, take_in)
        capture.require(int(made.messages.control[layout.A_NEXT]) == saved.meta["next"], "number of messages")
        made._trimmer.begin()
        return made
