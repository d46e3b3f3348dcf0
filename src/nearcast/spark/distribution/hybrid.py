"""The two hybrids of the paper's experiments (8.2): one mechanism cuts, a second one cuts each part again.

*Spatial-first*: Location into l1 parts, each by Prefix into l2. *Keyword-first*: the reverse. The paper says no more.
Chosen here:
- each part is fitted on what would come to it: the subscriptions that the first mechanism assigns to it and the
  messages that it routes to it;
- any number of partitions, not only l1 * l2: what is over goes to the costliest parts, and l1 is the root of it unless
  given;
- who counts a pair: the owner in the first mechanism names the part, the owner in that part's mechanism the partition.
  Both keep the promise of `mechanism`, so both together do.

A cell is a cell of a part; labels lie on top, so any two partitions can be merged, from different parts as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nearcast.spark.distribution.batches import MessageBatch, SubscriptionBatch
from nearcast.spark.distribution.keyword import Keyword
from nearcast.spark.distribution.location import Location
from nearcast.spark.distribution.mechanism import Mechanism, Rows, check_partitions
from nearcast.spark.distribution.prefix import Prefix
from nearcast.spark.distribution.routes import Partitions, Routes, united

Fit = Callable[[SubscriptionBatch, MessageBatch, int], Mechanism]


@dataclass(frozen=True, eq=False)
class Hybrid(Mechanism):
    """`outer` says which parts, `inner[part]` which of its cells."""

    outer: Mechanism
    inner: tuple[Mechanism, ...]
    kind: ClassVar[str] = "hybrid"

    @classmethod
    def spatial_first(
        cls,
        subscriptions: SubscriptionBatch,
        messages: MessageBatch,
        partitions: int,
        parts: int | None = None,
        words: type[Keyword] = Prefix,
        **settings: Any,
    ) -> Self:
        """Regions first, then words; `words` may be Keyword, too, and takes the settings."""

        def by_words(own: SubscriptionBatch, heard: MessageBatch, count: int) -> Mechanism:
            return words.fit(own, heard, count, **settings)

        return cls._fit(subscriptions, messages, partitions, parts, Location.fit, by_words)

    @classmethod
    def keyword_first(
        cls,
        subscriptions: SubscriptionBatch,
        messages: MessageBatch,
        partitions: int,
        parts: int | None = None,
        words: type[Keyword] = Prefix,
        **settings: Any,
    ) -> Self:
        """Words first, then regions."""

        def by_words(own: SubscriptionBatch, heard: MessageBatch, count: int) -> Mechanism:
            return words.fit(own, heard, count, **settings)

        return cls._fit(subscriptions, messages, partitions, parts, by_words, Location.fit)

    @classmethod
    def _fit(
        cls,
        subscriptions: SubscriptionBatch,
        messages: MessageBatch,
        partitions: int,
        parts: int | None,
        first: Fit,
        second: Fit,
    ) -> Self:
        check_partitions(partitions)
        outer = first(subscriptions, messages, min(partitions, parts or round(partitions**0.5)))
        count = len(outer.labels)
        room = np.full(count, partitions // count)
        room[np.argsort(-outer.costs(subscriptions, messages), kind="stable")[: partitions % count]] += 1
        own, heard = outer.assign(subscriptions), outer.route(messages)
        inner = tuple(
            second(subscriptions.take(_rows_of(own, part)), messages.take(_rows_of(heard, part)), int(room[part]))
            for part in range(count)
        )
        starts = np.cumsum(room) - room
        labels = [start + one.labels for start, one in zip(starts, inner, strict=True)]
        return cls(partitions, np.concatenate(labels).astype(np.int32), outer, inner)

    def assign(self, subscriptions: SubscriptionBatch) -> Routes:
        """All cells of all parts that hold it."""
        subscriptions = self._with_placed(subscriptions)
        return self._through(
            self.outer.assign(subscriptions), subscriptions.rows, subscriptions, lambda one, batch: one.assign(batch)
        )

    def route(self, messages: MessageBatch) -> Routes:
        return self._through(self.outer.route(messages), messages.rows, messages, lambda one, batch: one.route(batch))

    def owners(
        self, subscriptions: SubscriptionBatch, messages: MessageBatch, s_rows: Rows, m_rows: Rows
    ) -> Partitions:
        """The owner's owner."""
        subscriptions = self._with_placed(subscriptions)
        parts = self.outer.owners(subscriptions, messages, s_rows, m_rows)
        owners = np.full(len(s_rows), -1, np.int32)
        for part, (one, labels) in enumerate(self._parts()):
            pairs = np.flatnonzero(parts == part)
            cells = one.owners(subscriptions, messages, s_rows[pairs], m_rows[pairs])
            owners[pairs] = np.where(cells < 0, -1, labels[cells])
        return owners

    def placed(self, subscriptions: SubscriptionBatch) -> NDArray[np.int32]:
        return self._by_words.placed(subscriptions)

    def needs_move(self, subscriptions: SubscriptionBatch) -> NDArray[np.bool_]:
        return self._by_words.needs_move(subscriptions)

    def cut(self, cell: int, subscriptions: SubscriptionBatch, messages: MessageBatch) -> Self | None:
        """Its part cuts it, as its second mechanism does."""
        part = int(np.searchsorted(self._starts(), cell, side="right")) - 1
        subscriptions = self._with_placed(subscriptions)
        own = subscriptions.take(_rows_of(self.outer.assign(subscriptions), part))
        heard = messages.take(_rows_of(self.outer.route(messages), part))
        more = self.inner[part].cut(cell - int(self._starts()[part]), own, heard)
        if more is None:
            return None
        labels = [labels for _, labels in self._parts()]
        labels[part] = labels[part][more.labels]  # of a part, a cell's label was its number
        cells = len(more.labels)
        inner = (*self.inner[:part], more.relabel(np.arange(cells, dtype=np.int32), cells), *self.inner[part + 1 :])
        return replace(self, labels=np.concatenate(labels), inner=inner)

    def costs(self, subscriptions: SubscriptionBatch, messages: MessageBatch) -> NDArray[np.float64]:
        """C of each cell in its part, times the share of the messages that its part sees."""
        subscriptions = self._with_placed(subscriptions)
        own, heard = self.outer.assign(subscriptions), self.outer.route(messages)
        costs = []
        for part, one in enumerate(self.inner):
            mine, theirs = _rows_of(own, part), _rows_of(heard, part)
            costs.append(
                one.costs(subscriptions.take(mine), messages.take(theirs)) * (len(theirs) / max(1, messages.rows))
            )
        return np.concatenate(costs)

    def _through(self, parts: Routes, rows: int, batch: Any, ask: Callable[[Mechanism, Any], Routes]) -> Routes:
        """What the parts' mechanisms say of the rows that come to them."""
        answers = []
        for part, (one, labels) in enumerate(self._parts()):
            mine = _rows_of(parts, part)
            cells = ask(one, batch if len(mine) == rows else batch.take(mine))
            answers.append((mine, Routes(cells.offsets, labels[cells.partitions])))
        return united(rows, self.partitions, answers)

    def _with_placed(self, subscriptions: SubscriptionBatch) -> SubscriptionBatch:
        """Counted once, not once a part."""
        return subscriptions._replace(placed=self.placed(subscriptions))

    @property
    def _by_words(self) -> Mechanism:
        return self.outer if isinstance(self.outer, Keyword) else self.inner[0]

    def _starts(self) -> Rows:
        """The first cell of each part."""
        counts = np.array([len(one.labels) for one in self.inner], np.int64)
        return np.cumsum(counts) - counts

    def _parts(self) -> list[tuple[Mechanism, Partitions]]:
        """Each part's mechanism beside the labels of its cells."""
        return list(zip(self.inner, np.split(self.labels, self._starts()[1:]), strict=True))

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Mechanism:
        inner = tuple(map(Mechanism.from_json, fields["inner"]))
        return super()._read({**fields, "outer": Mechanism.from_json(fields["outer"]), "inner": inner})


def _rows_of(routes: Routes, part: int) -> Rows:
    rows: Rows = routes.sources()[routes.partitions == part]
    return rows
