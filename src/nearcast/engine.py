"""Skype on one machine: the engine that keeps every list exact by touching only what a message can change.

`_accept` reads like the flow picture in ARCHITECTURE.md: the window and the message index take the messages in, then
each shard expires, disseminates, offers, refills and reports, and the shards' changes are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearcast import capture, state, statistics, stepwise
from nearcast.changes import NO_CHANGES, ChangeColumns
from nearcast.errors import InvalidInput
from nearcast.explanation import Vector, reason
from nearcast.frontend import Frontend, Scores
from nearcast.intake import MessageBatch, SubscriptionBatch
from nearcast.judgement import State
from nearcast.kernels import flow, layout
from nearcast.message_index import SEGMENTS, create
from nearcast.model import Last, Window
from nearcast.policy import Planner
from nearcast.shard import Part, Shard
from nearcast.sharding import Sharding
from nearcast.snapshot import Contents
from nearcast.space import Space
from nearcast.text import TermVectors, Vocabulary
from nearcast.trim import Trimmer
from nearcast.tuning import Pruning, Tuning

T = TypeVar("T")

STEP = 2048
"""Messages taken in at a time: shards run in parallel within a step, changes are merged after it."""

PARALLEL = 16
"""From so many rows on it is worth waking the threads."""


class Engine(Frontend):
    """Top-k spatial-keyword publish/subscribe over a sliding window, exact, for millions of subscriptions."""

    def __init__(
        self,
        window: Window,
        space: Space,
        vocabulary: Vocabulary | None = None,
        *,
        threads: int = 1,
        tuning: Tuning | None = None,
        message_index: str = SEGMENTS,
    ) -> None:
        super().__init__(window, space, vocabulary)
        if not isinstance(threads, int) or not 1 <= threads <= 64:
            raise InvalidInput("threads", f"takes a whole number from 1 to 64, not {threads!r}")
        self.tuning = Tuning() if tuning is None else tuning
        self.message_index = message_index
        self._other_index = create(message_index, space.world)
        self._arenas = state.Arenas()
        self._messages = state.messages_state(self._arenas)
        self._index = state.index_state(self._arenas, self.tuning.head_messages, self.tuning.segment_messages)
        by_paper = self.tuning.order == "paper"
        self._shards = [
            stepwise.make_shard(self._messages, self._index, self._other_index, by_paper) for _ in range(threads)
        ]
        self._trimmer = Trimmer(self._messages, self._index, self._arenas, [shard.arenas for shard in self._shards])
        self._planner = Planner(space, self.tuning)
        self._sharding = Sharding(threads)
        self._home = self._arenas.take("home", np.uint8, state.ROWS)
        self._row = self._arenas.take("row", np.uint32, state.ROWS)
        self._pool = ThreadPoolExecutor(threads, "nearcast") if threads > 1 else None

    # --- subscriptions ---

    def _register(self, batch: SubscriptionBatch, vectors: TermVectors) -> ChangeColumns:
        codes = self.space.morton(batch.x, batch.y)
        columns = (batch.points, codes, batch.alpha, batch.k, batch.numbers)
        homes = self._sharding.assign(codes, [shard.live for shard in self._shards])
        rows = np.zeros(len(batch.slots), np.int64)
        self._planner.meet(np.unique(batch.k).tolist())
        self._observe()
        policy = self._planner.policy

        def run(number: int) -> Part:
            here = np.flatnonzero(homes == number)
            chosen = here[np.argsort(codes[here], kind="stable")]  # neighbours look at the same messages
            return self._shards[number].register(policy, columns, vectors, chosen, rows, batch.slots)

        self._home[batch.slots] = homes
        changes = self._gather(self._on_all(run, len(batch.slots) >= PARALLEL), self.newest_seq, mixed=True)
        self._row[batch.slots] = rows
        return changes

    def _remove(self, slot: int) -> ChangeColumns:
        shard, row = self._find(slot)
        return shard.unregister(self._planner.policy, row)[0]

    # --- messages ---

    def _accept(self, batch: MessageBatch, vectors: TermVectors) -> ChangeColumns:
        codes = self.space.morton(batch.x, batch.y)
        times = batch.times.astype(np.float64)
        count = len(times)
        done = []
        for begin in range(0, count, STEP):
            end = min(begin + STEP, count)
            self._take_in((batch.points, codes, times, *vectors), begin, end)
            live = np.empty(end - begin + 1, np.int64)
            size, duration = self._limits()
            flow.live_after(self._messages, end - begin, batch.first_seq + begin, size, duration, live)
            done.append(self._step(batch.first_seq + begin, live, True))
        return done[0] if len(done) == 1 else ChangeColumns(*map(np.concatenate, zip(*done, strict=True)))

    def _take_in(self, columns: capture.MessageColumns, begin: int, end: int) -> None:
        """Some rows of a batch go into the window and the message index."""
        if self._other_index is None:
            flow.add_messages(self._messages, self._index, *columns, begin, end)
        else:
            stepwise.take_in(self._messages, self._other_index, columns, begin, end)

    def _advance(self, now: int) -> ChangeColumns:
        size, duration = self._limits()
        if size:
            return NO_CHANGES
        control = self._messages.control
        live = np.array([control[layout.A_FIRST], flow.live_at(self._messages, float(now), duration)])
        return self._step(int(control[layout.A_NEXT]), live, False)

    def _step(self, first_seq: int, live: NDArray[np.int64], arrives: bool) -> ChangeColumns:
        """Let all shards do some messages; then the expired ones' memory goes."""
        policy = self._planner.policy

        def run(number: int) -> Part:
            return self._shards[number].advance(policy, first_seq, live, arrives)

        changes = self._gather(self._on_all(run, len(live) > PARALLEL), first_seq)
        self._messages.control[layout.A_FIRST] = live[-1]
        self._trimmer.follow()
        if self._other_index is not None:
            self._other_index.expire(int(live[-1]))
        self._observe(len(live) - 1 if arrives else 0, int(live[-1] - live[0]))
        return changes

    def _observe(self, arrived: int = 0, expired: int = 0) -> None:
        """Tell the planner how things have gone."""
        control = self._messages.control
        counters = np.sum([shard.counters for shard in self._shards], axis=0)
        self._planner.observe(int(control[layout.A_NEXT] - control[layout.A_FIRST]), counters, arrived, expired)

    def _limits(self) -> tuple[int, float]:
        """The window as kernels take it: how many messages (0: any), how many milliseconds."""
        if isinstance(self.window, Last):
            return self.window.count, 0.0
        return 0, float(self.window.duration_ms)

    # --- reading ---

    def _find(self, slot: int) -> tuple[Shard, int]:
        return self._shards[self._home[slot]], int(self._row[slot])

    def _list(self, slot: int) -> Scores:
        shard, row = self._find(slot)
        return shard.list(row)

    def _vector(self, slot: int) -> Vector:
        shard, row = self._find(slot)
        return shard.vector(row)

    def _message_vector(self, seq: int) -> Vector:
        span = int(self._messages.span[seq & layout.SLOT_MASK])
        first, count = span >> layout.SPAN_BITS, span & ((1 << layout.SPAN_BITS) - 1)
        rows = self._messages.terms[first : first + count]
        return rows[:, 0].copy(), rows[:, 1].copy().view(np.float32)

    def _threshold(self, slot: int) -> float:
        shard, row = self._find(slot)
        return shard.threshold(row)

    def _reason(self, slot: int, seq: int) -> str:
        shard, row = self._find(slot)
        now = State(shard.subscriptions, shard.postings, self._planner.policy, self._messages)
        return reason(now, shard.buffer(row), row, seq, self.vocabulary.word)

    # --- snapshots ---

    kind = "engine"

    def _settings(self) -> dict[str, Any]:
        own = {"threads": len(self._shards), "message_index": self.message_index}
        return {**own, "tuning": asdict(self.tuning)}

    @classmethod
    def _revive(cls, window: Window, space: Space, vocabulary: Vocabulary, settings: Mapping[str, Any]) -> Self:
        tuning = dict(settings["tuning"])
        tuning["pruning"] = Pruning(**tuning["pruning"])
        own = {"threads": settings["threads"], "message_index": settings["message_index"]}
        return cls(window, space, vocabulary, **own, tuning=Tuning(**tuning))

    def _save(self) -> Contents:
        slots = self._registry.slots()
        newest = int(self._messages.control[layout.A_NEXT]) - 1
        subscriptions = capture.save_subscriptions(self._shards, self._home[slots], self._row[slots], newest)
        plain = {"counters": [shard.counters.tolist() for shard in self._shards], "planner": self._planner.save()}
        return capture.contents(
            {"messages": capture.save_messages(self._messages), "subscriptions": subscriptions}, plain
        )

    def _load(self, saved: Contents) -> None:
        words, first, newest = len(self.vocabulary), self._log.start, self._log.end - 1
        messages = capture.part(saved, "messages")
        capture.load_messages(self._messages, self._index, first, messages, words, self._take_in)
        capture.require(int(self._messages.control[layout.A_NEXT]) == newest + 1, "number of messages")
        self._trimmer.begin()
        slots = self._registry.slots()
        columns = capture.part(saved, "subscriptions")
        c = capture.checked_subscriptions(columns, len(slots), first, newest, words)
        for shard, counters in zip(self._shards, saved.meta["counters"], strict=True):
            shard.counters[:] = counters
        self._planner.load(saved.meta["planner"])
        homes = self._sharding.assign(c["codes"], [0] * len(self._shards))
        self._home[slots] = homes
        rows = np.zeros(len(slots), np.int64)

        def run(number: int) -> None:
            chosen = np.flatnonzero(homes == number)
            self._shards[number].adopt(self._planner.policy, c, chosen, rows, slots)

        self._on_all(run, True)
        self._row[slots] = rows

    def _counters(self) -> Mapping[str, float]:
        counters = dict(statistics.counters(self._shards, self._arenas, self._messages, self._index))
        if self._other_index is not None:
            counters["bytes_window"] += self._other_index.nbytes()
        return counters

    # --- shards ---

    def _on_all(self, run: Callable[[int], T], parallel: bool) -> list[T]:
        """One job a shard, on threads if it is worth waking them."""
        numbers = range(len(self._shards))
        if parallel and self._pool is not None:
            return list(self._pool.map(run, numbers))
        return [run(number) for number in numbers]

    def _gather(self, parts: list[Part], first_seq: int, mixed: bool = False) -> ChangeColumns:
        """All shards' changes in order of message and registration. Each part is in it, unless `mixed`."""
        if len(parts) == 1 and not mixed:
            return parts[0][0]
        columns = ChangeColumns(*map(np.concatenate, zip(*(part[0] for part in parts), strict=True)))
        numbers = np.concatenate([part[1] for part in parts])
        order = np.argsort((columns.seq - first_seq) << 32 | numbers, kind="stable")
        return ChangeColumns._make(column[order] for column in columns)
