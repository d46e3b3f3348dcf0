"""What every distribution mechanism answers (paper 7.3), and the promise that makes the partitions' lists exact.

A mechanism cuts the subscriptions into *cells* (residues of a hash, leaves of a KD-tree, ranges of keywords) and says
for each cell which partition holds it: its label. At first each cell is a partition of its own; to split and to merge
partitions (`maintenance`) is to cut a cell and to write labels. A partition keeps its number for life, and a number
that a merge has freed is the next split's.

**The promise.** Take any subscription s and message m that have a word in common and score at least theta. Then one
partition, `owners(s, m)`, is among both `assign(s)` and `route(m)`. A replicated subscription meets m in other
partitions, too: those must drop the pair, and so it counts once. The owner sends what it found to `home(s)`, which is
among `assign(s)` and alone holds the buffer: the paper leaves open what the buffer of a replicated subscription is.

The home is drawn from those that hold the subscription, by rendezvous hashing: a new one among them takes it over from
another only if it wins, so few buffers move. Homes at the rarest word would never move as a prefix grows, but the range
of the rare words would be home to 6.9 times the mean (50 K subscriptions to tweets, 32 partitions; drawn: 2.6).

A mechanism is frozen, is pickled, and is written as plain JSON.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nearcast.errors import InvalidInput
from nearcast.spark.distribution.batches import MessageBatch, SubscriptionBatch
from nearcast.spark.distribution.routes import Partitions, Routes, drawn

Rows = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Mechanism(ABC):
    """A way to distribute subscriptions and messages over partitions 0 .. partitions - 1."""

    partitions: int
    labels: Partitions
    """Cell -> partition."""

    kind: ClassVar[str]
    _kinds: ClassVar[dict[str, type[Mechanism]]] = {}

    def __init_subclass__(cls) -> None:
        Mechanism._kinds[cls.kind] = cls

    @property
    def live(self) -> Partitions:
        """The partitions in use, ascending. Others are free: left by a merge, or there was nothing to cut for them."""
        return np.unique(self.labels)

    # --- Where things go ---

    @abstractmethod
    def assign(self, subscriptions: SubscriptionBatch) -> Routes:
        """Every partition that holds the subscription."""

    def home(self, subscriptions: SubscriptionBatch) -> Partitions:
        """The partition that holds its buffer."""
        return drawn(subscriptions.numbers, self.assign(subscriptions))

    @abstractmethod
    def route(self, messages: MessageBatch) -> Routes:
        """The partitions that a message must be sent to."""

    @abstractmethod
    def owners(
        self, subscriptions: SubscriptionBatch, messages: MessageBatch, s_rows: Rows, m_rows: Rows
    ) -> Partitions:
        """Of each pair (s_rows[i], m_rows[i]) the partition that counts it; -1 if it can affect nothing."""

    def placed(self, subscriptions: SubscriptionBatch) -> NDArray[np.int32]:
        """How many of its words, rare first, the subscription is placed by: to be kept beside it in `placed`."""
        return np.diff(subscriptions.offsets).astype(np.int32)

    def needs_move(self, subscriptions: SubscriptionBatch) -> NDArray[np.bool_]:
        """Whose threshold has fallen so far that it must be placed anew, by more words (paper 7.3.4)."""
        return np.zeros(subscriptions.rows, np.bool_)

    # --- What maintenance asks ---

    @abstractmethod
    def cut(self, cell: int, subscriptions: SubscriptionBatch, messages: MessageBatch) -> Self | None:
        """The same with this cell in two of about equal cost, both with its label; None if it cannot be cut."""

    @abstractmethod
    def costs(self, subscriptions: SubscriptionBatch, messages: MessageBatch) -> NDArray[np.float64]:
        """C of each cell as the mechanism defines it, counted on samples."""

    def relabel(self, labels: Partitions, partitions: int) -> Self:
        """The same cells in other partitions."""
        return dataclasses.replace(self, labels=labels.astype(np.int32), partitions=partitions)

    # --- What a checkpoint holds ---

    def to_json(self) -> dict[str, Any]:
        """All of it, as numbers, strings and lists."""
        written = {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return {"kind": self.kind, **written}

    @staticmethod
    def from_json(settings: Mapping[str, Any]) -> Mechanism:
        """The mechanism that `to_json` described."""
        kind = settings.get("kind")
        if kind not in Mechanism._kinds:
            raise InvalidInput("mechanism", f"kind must be one of {sorted(Mechanism._kinds)}, not {kind!r}")
        cls = Mechanism._kinds[kind]
        names = {field.name for field in dataclasses.fields(cls)}
        if set(settings) - {"kind"} != names:
            raise InvalidInput("mechanism", f"{kind} has {sorted(names)}, not {sorted(set(settings) - {'kind'})}")
        return cls._read({name: value for name, value in settings.items() if name != "kind"})

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Mechanism:
        """From JSON's lists to arrays; each kind knows its own."""
        return cls(**{**fields, "labels": np.array(fields["labels"], np.int32)})


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mechanism):
        return value.to_json()
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def check_partitions(partitions: int) -> None:
    """At least one."""
    if partitions < 1:
        raise InvalidInput("partitions", f"must be at least 1, not {partitions!r}")
