"""The whole topology in one process: DSkype as an executable specification (paper 7.2).

Whoever runs it elsewhere does what `run` does, in its order, and only moves the columns between machines. At the end of
every batch all lists are exact. Streams 5 to 7 are skipped when nobody asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np

from nearcast.changes import ChangeColumns
from nearcast.errors import InvalidInput
from nearcast.intake import NEVER
from nearcast.kernels.layout import N_POSTINGS
from nearcast.machinery import Scores
from nearcast.model import Window
from nearcast.snapshot import Contents
from nearcast.space import Space
from nearcast.spark.distribution import Mechanism
from nearcast.spark.topology.aggregation import aggregate
from nearcast.spark.topology.clock import Clock
from nearcast.spark.topology.columns import Columns, Rows
from nearcast.spark.topology.distribute import distribute
from nearcast.spark.topology.messages import MessagePartition
from nearcast.spark.topology.report import BatchReport
from nearcast.spark.topology.streams import Answers, Copies, Hits, Messages, Newcomers, Notices, Requests
from nearcast.spark.topology.subscriptions import SubscriptionPartition
from nearcast.spark.topology.tenants import NO_ROWS
from nearcast.tuning import Tuning

MAX_NUMBER = (1 << 32) - 2


class Batch(NamedTuple):
    """A micro-batch. Its changes of subscriptions are net: nobody comes and leaves in one batch."""

    messages: Messages  # stream 1; `seqs` and `times` are set here
    newcomers: Newcomers  # stream 2
    leaving: Rows = NO_ROWS  # stream 2: registration numbers
    now: int = NEVER  # the time once all have arrived, if it is later than their own


class Done(NamedTuple):
    """What a batch changed, in the order of `model.Change`, `subscription` being the registration number."""

    changes: ChangeColumns
    report: BatchReport


class Topology:
    """Subscription partitions as a mechanism has them, message partitions, and what joins them."""

    def __init__(
        self,
        window: Window,
        space: Space,
        mechanism: Mechanism,
        *,
        keepers: int = 1,
        tuning: Tuning | None = None,
    ) -> None:
        """`keepers` is the number of message partitions."""
        if keepers < 1:
            raise InvalidInput("keepers", f"must be at least 1, not {keepers!r}")
        self.space, self.mechanism, self.tuning = space, mechanism, tuning
        self.clock = Clock(window)
        self.partitions = [SubscriptionPartition(n, mechanism, space, tuning) for n in range(mechanism.partitions)]
        self.keepers = [MessagePartition(n, keepers, space, tuning) for n in range(keepers)]

    def run(self, batch: Batch) -> Done:
        """One micro-batch through all components."""
        if (
            batch.newcomers.rows
            and not 0 <= batch.newcomers.numbers.min() <= batch.newcomers.numbers.max() <= MAX_NUMBER
        ):
            raise InvalidInput("numbers", f"must be from 0 to {MAX_NUMBER}")
        seen = [int(partition.counters[N_POSTINGS]) for partition in self.partitions]
        # 1, 2: into the distribution step; 3, 4: out of it
        tick, times = self.clock.take(batch.messages.times, batch.now)
        seqs = np.arange(tick.first, tick.newest + 1)
        m = batch.messages
        messages = Messages(seqs, times, m.x, m.y, m.offsets, m.terms, m.weights)
        out = distribute(self.mechanism, len(self.keepers), tick, messages, batch.newcomers)
        for keeper, kept in zip(self.keepers, out.kept, strict=True):
            keeper.take_in(kept, tick)
        for partition in self.partitions:
            partition.remove(tick, batch.leaving)
        found = [p.disseminate(routed) for p, routed in zip(self.partitions, out.disseminated, strict=True)]
        # hits travel home
        hits = Hits.joined(found)
        arriving = hits.split(hits.homes, len(self.partitions))
        travelled = sum(int((part.homes != n).sum()) for n, part in enumerate(found))
        asked = [p.take(own, new) for p, own, new in zip(self.partitions, arriving, out.newcomers, strict=True)]
        # 5, 6, 7: re-evaluation
        requests = Requests.joined(asked)
        answers, partials = Answers.none(), []
        if requests.rows:
            partials = [keeper.answer(requests) for keeper in self.keepers]
            answers = aggregate(partials)
        outcomes = [
            p.load(own)
            for p, own in zip(self.partitions, answers.split(answers.homes, len(self.partitions)), strict=True)
        ]
        # what homes tell each other, before the next batch
        copies = Copies.joined([outcome.copies for outcome in outcomes])
        notices = Notices.joined([outcome.notices for outcome in outcomes])
        self._deliver(copies, notices)
        changes = gathered([outcome.changes for outcome in outcomes])
        routed = Messages.joined(out.disseminated)
        streams: dict[str, Columns] = {
            "3": routed,
            "4": messages,
            "hits": hits,
            "5": requests,
            "7": answers,
            "copies": copies,
            "notices": notices,
        }
        sizes = {name: columns.nbytes for name, columns in streams.items()}
        report = BatchReport(
            messages=messages.rows,
            sent=routed.rows,
            hits=hits.rows,
            travelled=travelled,
            requests=requests.rows,
            partials=sum(len(part.scores) for part in partials),
            notices=notices.rows,
            copies=copies.rows,
            changes=len(changes.seq),
            held=[p.live for p in self.partitions],
            homes=[len(p.homed()) for p in self.partitions],
            postings=[int(p.counters[N_POSTINGS]) - n for p, n in zip(self.partitions, seen, strict=True)],
            subscription_bytes=[p.bytes() for p in self.partitions],
            message_bytes=[keeper.bytes() for keeper in self.keepers],
            bytes_by_stream={**sizes, "6": sum(part.nbytes for part in partials)},
        )
        return Done(changes, report)

    def adapt(self, mechanism: Mechanism) -> None:
        """Between batches: another mechanism, with at least as many partitions (7.4: one was split, two merged)."""
        if mechanism.partitions < len(self.partitions):
            raise InvalidInput("mechanism", f"has {mechanism.partitions} partitions, fewer than {len(self.partitions)}")
        for number in range(len(self.partitions), mechanism.partitions):
            fresh = SubscriptionPartition(number, mechanism, self.space, self.tuning)
            fresh.remove(self.partitions[0].tick, NO_ROWS)
            self.partitions.append(fresh)
        sent = [partition.adapt(mechanism) for partition in self.partitions]
        self.mechanism = mechanism
        self._deliver(Copies.joined([copies for copies, _ in sent]), Notices.joined([notices for _, notices in sent]))

    def top(self, number: int) -> Scores:
        """The list of a subscription, best first: messages and scores."""
        for partition in self.partitions:
            row = partition.row(number)
            if row is not None:
                return partition.list(row)
        raise InvalidInput("number", f"{number} is not registered")

    def save(self) -> dict[str, Contents]:
        """The state between two batches, by component."""
        plain = {"mechanism": self.mechanism.to_json(), "keepers": len(self.keepers)}
        saved = {"distribution": Contents(plain, {}, {}), "clock": self.clock.save()}
        saved |= {f"subscriptions-{n}": partition.save() for n, partition in enumerate(self.partitions)}
        return saved | {f"messages-{n}": keeper.save() for n, keeper in enumerate(self.keepers)}

    @classmethod
    def restored(
        cls, saved: Mapping[str, Contents], window: Window, space: Space, tuning: Tuning | None = None
    ) -> Self:
        """The topology that `save` wrote."""
        plain = saved["distribution"].meta
        mechanism, keepers = Mechanism.from_json(plain["mechanism"]), int(plain["keepers"])
        made = cls(window, space, mechanism, keepers=keepers, tuning=tuning)
        made.clock.load(saved["clock"])
        made.partitions = [
            SubscriptionPartition.restored(saved[f"subscriptions-{n}"], n, mechanism, space, tuning)
            for n in range(mechanism.partitions)
        ]
        made.keepers = [
            MessagePartition.restored(saved[f"messages-{n}"], n, keepers, space, tuning) for n in range(keepers)
        ]
        return made

    def _deliver(self, copies: Copies, notices: Notices) -> None:
        """Notices and copies to their goals."""
        count = len(self.partitions)
        for partition, own, told in zip(
            self.partitions, copies.split(copies.goals, count), notices.split(notices.goals, count), strict=True
        ):
            partition.receive(own, told)


def gathered(parts: list[ChangeColumns]) -> ChangeColumns:
    """The changes of all partitions, in order of registration."""
    columns = ChangeColumns(*map(np.concatenate, zip(*parts, strict=True)))
    order = np.argsort(columns.subscription, kind="stable")
    return ChangeColumns._make(column[order] for column in columns)
