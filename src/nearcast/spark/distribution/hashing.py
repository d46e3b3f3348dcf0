"""Hashing (paper 7.3.1): the subscription's number decides, so the partitions are even and every message goes to all.

The paper's h(s) = s.id mod N is a table of N entries. A split doubles the table if the hot partition has only one entry
(of s.id mod 2N both i and i + N lead to it then), and gives half of its entries away. So a split moves half of one
partition and nothing else. Rendezvous hashing would be as uniform, but is made to take something from every partition;
it cannot relieve the one that is hot, and it is not the paper's function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nearcast.spark.distribution.batches import MessageBatch, SubscriptionBatch
from nearcast.spark.distribution.mechanism import Mechanism, Rows, check_partitions
from nearcast.spark.distribution.routes import Partitions, Routes, everywhere, single


@dataclass(frozen=True, eq=False)
class Hashing(Mechanism):
    """A cell is a residue of the subscription's number."""

    kind: ClassVar[str] = "hashing"

    @classmethod
    def fit(cls, subscriptions: SubscriptionBatch, messages: MessageBatch, partitions: int) -> Self:
        """Nothing is learned."""
        check_partitions(partitions)
        return cls(partitions, np.arange(partitions, dtype=np.int32))

    def assign(self, subscriptions: SubscriptionBatch) -> Routes:
        return single(self.labels[subscriptions.numbers % len(self.labels)])

    def route(self, messages: MessageBatch) -> Routes:
        return everywhere(messages.rows, self.live)

    def owners(
        self, subscriptions: SubscriptionBatch, messages: MessageBatch, s_rows: Rows, m_rows: Rows
    ) -> Partitions:
        """The only partition that holds the subscription."""
        return self.labels[subscriptions.numbers[s_rows] % len(self.labels)]

    def cut(self, cell: int, subscriptions: SubscriptionBatch, messages: MessageBatch) -> Self:
        """Each cell in two: only one of them is about to get another label."""
        return replace(self, labels=np.concatenate([self.labels, self.labels]))

    def costs(self, subscriptions: SubscriptionBatch, messages: MessageBatch) -> NDArray[np.float64]:
        """How many subscriptions: the messages are the same for all."""
        cells = len(self.labels)
        return np.bincount(subscriptions.numbers % cells, minlength=cells).astype(np.float64)
