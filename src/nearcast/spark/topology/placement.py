"""Who must hold a subscription from now on, and what its home must tell whom (paper 7.3.4, lazy reallocation).

A home decides for its own subscriptions alone, after each batch: for new ones, now that their first list has given
them a threshold; for those whose threshold has moved; and for all when the mechanism has been changed. A threshold
that has fallen must reach every guest before the next message is routed, or pairs would be lost; one that has risen
only saves them work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.spark.distribution import Mechanism, Routes, SubscriptionBatch
from nearcast.spark.distribution.routes import keep, single, united

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Placement(NamedTuple):
    """By row of the batch: where it stands from now on. By entry: what goes where."""

    homes: NDArray[np.int32]
    holders: NDArray[np.int32]  # how many partitions hold it
    placed: NDArray[np.int32]
    stays: Flags  # whether the partition that decides is among them
    copied: tuple[Rows, NDArray[np.int32]]  # rows, and who needs a copy
    told: tuple[Rows, NDArray[np.int32]]  # rows, and who has one already
    left: tuple[Rows, NDArray[np.int32]]  # rows, and who has one and needs it no longer


def place(number: int, before: Mechanism, after: Mechanism, batch: SubscriptionBatch, fresh: Flags) -> Placement:
    """What partition `number`, home to all of these, has to do. `batch` has thresholds of now, `placed` as they stand.

    Those `fresh` stand here alone so far, wherever `before` would have them.
    """
    anew = before.needs_move(batch) | fresh
    if after is not before:
        anew |= after.needs_move(batch)
    placed = np.where(anew, after.placed(batch._replace(placed=None)), before.placed(batch)).astype(np.int32)
    now = batch._replace(placed=placed)
    old, new = _standing(number, before, batch, fresh), after.assign(now)
    homes = after.home(now)
    width = max(before.partitions, after.partitions, number + 1)
    old_rows, new_rows = old.sources(), new.sources()
    known = np.isin(new_rows * width + new.partitions, old_rows * width + old.partitions)
    wanted = np.isin(old_rows * width + old.partitions, new_rows * width + new.partitions)
    away = new.partitions != number
    copied = away & (~known | (new.partitions == homes[new_rows]))  # the buffer goes along to a new home
    told = away & ~copied
    left = ~wanted & (old.partitions != number)
    stays = np.zeros(batch.rows, np.bool_)
    stays[new_rows[~away]] = True
    return Placement(
        homes,
        np.diff(new.offsets).astype(np.int32),
        placed,
        stays,
        (new_rows[copied], new.partitions[copied]),
        (new_rows[told], new.partitions[told]),
        (old_rows[left], old.partitions[left]),
    )


def _standing(number: int, mechanism: Mechanism, batch: SubscriptionBatch, fresh: Flags) -> Routes:
    """Who holds each of them now."""
    assigned = mechanism.assign(batch)
    old = keep(assigned, ~fresh[assigned.sources()])
    rows = np.flatnonzero(fresh)
    here = single(np.full(len(rows), number, np.int32))
    return united(batch.rows, max(mechanism.partitions, number + 1), [(np.arange(batch.rows), old), (rows, here)])
