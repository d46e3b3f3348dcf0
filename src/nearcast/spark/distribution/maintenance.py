"""Partitions that are hot are split, partitions that are idle are merged (paper 7.4), and whoever must move is named.

The paper says that its partitions "can be easily further partitioned or merged". Here all mechanisms do it in one way.
To *split*, the partition's cells are shared out by cost; if it has only one, that cell is first cut in two, by the rule
that the mechanism was fitted with. The second share gets a free number. To *merge*, the second partition's cells get
the first one's number: any two partitions, neighbours or not. So nothing moves but what leaves the hot partition, or
the one that is given up, and merging two and splitting one keeps the number of partitions.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearcast.errors import InvalidInput
from nearcast.spark.distribution.balance import lighter_share
from nearcast.spark.distribution.batches import MessageBatch, SubscriptionBatch
from nearcast.spark.distribution.mechanism import Mechanism
from nearcast.spark.distribution.routes import Routes, keep

Some = TypeVar("Some", bound=Mechanism)


class Moves(NamedTuple):
    """What a new mechanism, or a new threshold, changes for the subscriptions of a batch."""

    arriving: Routes  # partitions that must take the subscription in
    leaving: Routes  # partitions that must drop it
    rehomed: NDArray[np.bool_]  # whose buffer must go to another home


class Advice(NamedTuple):
    """What loads ask for; both at once keep the number of partitions."""

    split: int | None
    merge: tuple[int, int] | None


def split(mechanism: Some, partition: int, subscriptions: SubscriptionBatch, messages: MessageBatch) -> Some:
    """One partition in two, balanced on samples; the mechanism itself if there is nothing in it to separate."""
    cells = _cells(mechanism, partition)
    if len(cells) == 1:
        more = mechanism.cut(int(cells[0]), subscriptions, messages)
        if more is None:
            return mechanism
        mechanism, cells = more, np.flatnonzero(more.labels == partition)
    given = lighter_share(mechanism.costs(subscriptions, messages)[cells])
    free = np.setdiff1d(np.arange(mechanism.partitions + 1), mechanism.labels)[0]
    labels = mechanism.labels.copy()
    labels[cells[given]] = free
    return mechanism.relabel(labels, max(mechanism.partitions, int(free) + 1))


def merge(mechanism: Some, partition: int, other: int) -> Some:
    """All of `other` comes to `partition`; its number is free then."""
    if partition == other:
        raise InvalidInput("partition", f"{partition} cannot be merged with itself")
    _cells(mechanism, partition)
    labels = mechanism.labels.copy()
    labels[_cells(mechanism, other)] = partition
    return mechanism.relabel(labels, mechanism.partitions)


def moves(
    before: Mechanism, after: Mechanism, subscriptions: SubscriptionBatch, now: SubscriptionBatch | None = None
) -> Moves:
    """Who must move from one mechanism to another.

    `now` is the same subscriptions with another `placed`: with one mechanism twice it tells a reallocation's moves.
    """
    now = subscriptions if now is None else now
    old, new = before.assign(subscriptions), after.assign(now)
    width = max(before.partitions, after.partitions)
    old_keys, new_keys = (routes.sources() * width + routes.partitions for routes in (old, new))
    return Moves(
        keep(new, ~np.isin(new_keys, old_keys)),
        keep(old, ~np.isin(old_keys, new_keys)),
        before.home(subscriptions) != after.home(now),
    )


def advise(loads: NDArray[np.float64], live: NDArray[np.int32], hot: float = 1.5, idle: float = 1.0) -> Advice:
    """Split the partition with more than `hot` times the mean load; merge the two that together have below `idle`."""
    mine = loads[live]
    order = live[np.argsort(mine, kind="stable")]
    mean = float(mine.mean())
    hottest = int(order[-1])
    pair = (int(order[0]), int(order[1])) if len(order) > 2 else None
    return Advice(
        hottest if loads[hottest] > hot * mean else None,
        pair if pair is not None and loads[pair[0]] + loads[pair[1]] < idle * mean else None,
    )


def _cells(mechanism: Mechanism, partition: int) -> NDArray[np.int64]:
    cells = np.flatnonzero(mechanism.labels == partition)
    if not len(cells):
        raise InvalidInput("partition", f"{partition} is not in use; those in use are {mechanism.live.tolist()}")
    return cells
