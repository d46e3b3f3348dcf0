"""What one micro-batch cost: the paper's measures of a mechanism (7.3.1) and what the streams carried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class BatchReport:
    """Counts of one batch; lists have one value a subscription partition, in order, unless they say otherwise."""

    messages: int
    sent: int
    """Messages on stream 3: once for each partition that one goes to."""
    hits: int
    travelled: int
    """Hits whose subscription is at home in another partition."""
    requests: int
    """Stream 5: re-evaluations, and first lists of new subscriptions."""
    partials: int
    """Entries on stream 6."""
    notices: int
    copies: int
    changes: int
    held: Sequence[int]
    """Subscriptions by partition, guests included."""
    homes: Sequence[int]
    """Subscriptions by partition, at home there."""
    postings: Sequence[int]
    """Postings that the batch looked at, by partition: the load."""
    subscription_bytes: Sequence[int]
    message_bytes: Sequence[int]
    """By message partition."""
    bytes_by_stream: Mapping[str, int]
    """What went over each stream."""

    @property
    def communication_cost(self) -> float:
        """To how many subscription partitions a message is sent, on average."""
        return self.sent / self.messages if self.messages else 0.0

    @property
    def replication_ratio(self) -> float:
        """In how many partitions a subscription stands, on average."""
        homes = sum(self.homes)
        return sum(self.held) / homes if homes else 0.0

    @property
    def skew(self) -> float:
        """The greatest load as a multiple of the mean."""
        loads: NDArray[np.float64] = np.array(self.postings, np.float64)
        return float(loads.max() / loads.mean()) if loads.any() else 1.0
