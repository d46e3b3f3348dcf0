"""The distribution step: streams 1 and 2 come in, 3 and 4 go out (paper 7.2, distribution bolts).

It holds nothing but a mechanism, so any number of copies of it may work on shares of a batch. Who leaves is told to all
subscription partitions, as nobody here knows where a subscription stands; whoever has it drops it.

A message that is dead by the end of its own batch (the window is shorter than the batch) is sent to no subscription
partition: it is in no list at the end, and whatever it would have evicted is older and dead, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearcast.spark.distribution import Mechanism
from nearcast.spark.topology.clock import Tick
from nearcast.spark.topology.streams import Messages, Newcomers


class Distributed(NamedTuple):
    """Streams 3 and 4, by partition."""

    disseminated: list[Messages]  # 3: to subscription partitions
    newcomers: list[Newcomers]  # 3
    kept: list[Messages]  # 4: to message partitions


def distribute(mechanism: Mechanism, keepers: int, tick: Tick, messages: Messages, newcomers: Newcomers) -> Distributed:
    """Where each row goes. A message is kept by seq modulo `keepers`, the number of message partitions."""
    fresh = messages.take(np.flatnonzero(messages.seqs >= tick.live))
    routed = mechanism.route(fresh.batch())
    sources = routed.sources()
    count = mechanism.partitions
    return Distributed(
        [fresh.take(sources[routed.partitions == goal]) for goal in range(count)],
        newcomers.split(mechanism.home(newcomers.batch()), count),
        messages.split((messages.seqs % keepers).astype(np.int32), keepers),
    )
