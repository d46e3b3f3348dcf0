"""Location (paper 7.3.2): subscriptions of one region share a partition; every message goes to all.

It does not save communication, but neighbours prune better together (the spatial bounds are tighter). To send less
was tried (docs/decisions/0015-no-skipping-of-partitions.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nearcast.spark.distribution.batches import MessageBatch, SubscriptionBatch
from nearcast.spark.distribution.kdtree import Tree, spatial_partition
from nearcast.spark.distribution.mechanism import Mechanism, Rows, check_partitions
from nearcast.spark.distribution.routes import Partitions, Routes, everywhere, single


@dataclass(frozen=True, eq=False)
class Location(Mechanism):
    """A cell is a leaf of the KD-tree."""

    tree: Tree
    kind: ClassVar[str] = "location"

    @classmethod
    def fit(cls, subscriptions: SubscriptionBatch, messages: MessageBatch, partitions: int) -> Self:
        """SpatialPartition on samples."""
        check_partitions(partitions)
        tree = spatial_partition(subscriptions.places, messages.places, partitions)
        return cls(partitions, np.arange(tree.leaves, dtype=np.int32), tree)

    def assign(self, subscriptions: SubscriptionBatch) -> Routes:
        return single(self.labels[self.tree.leaf(subscriptions.places)])

    def route(self, messages: MessageBatch) -> Routes:
        return everywhere(messages.rows, self.live)

    def owners(
        self, subscriptions: SubscriptionBatch, messages: MessageBatch, s_rows: Rows, m_rows: Rows
    ) -> Partitions:
        """The only partition that holds the subscription."""
        return self.labels[self.tree.leaf(subscriptions.places[s_rows])]

    def cut(self, cell: int, subscriptions: SubscriptionBatch, messages: MessageBatch) -> Self | None:
        """One more split below this leaf, by the algorithm's rule."""
        own = subscriptions.places[self.tree.leaf(subscriptions.places) == cell]
        heard = messages.places[self.tree.leaf(messages.places) == cell]
        tree = self.tree.cut(cell, own, heard)
        return None if tree is None else replace(self, tree=tree, labels=np.append(self.labels, self.labels[cell]))

    def costs(self, subscriptions: SubscriptionBatch, messages: MessageBatch) -> NDArray[np.float64]:
        """C(nd) = N(nd) * p(nd)."""
        counts = [
            np.bincount(self.tree.leaf(places), minlength=self.tree.leaves)
            for places in (subscriptions.places, messages.places)
        ]
        return counts[0] * (counts[1] / max(1, messages.rows))

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Mechanism:
        kinds = (np.int8, np.float64, np.int32, np.int32)
        tree = Tree(*(np.array(column, kind) for column, kind in zip(fields["tree"], kinds, strict=True)))
        return super()._read({**fields, "tree": tree})
