"""The seven streams of the paper's topology (7.2, Table `stream_groupings`), as columns.

| stream | from | to | kind |
|---|---|---|---|
| 1 | message source | distribution | `Messages` |
| 2 | subscription source | distribution | `Newcomers`, and the numbers of those who leave |
| 3 | distribution | subscription partitions | the same, routed by the mechanism; numbers that leave go to all |
| 4 | distribution | message partitions | `Messages`, each to one |
| 5 | subscription partitions | message partitions | `Requests`, to all |
| 6 | message partitions | aggregation | `Partials` |
| 7 | aggregation | subscription partitions | `Answers`, to the home |

The paper leaves open what the buffer of a replicated subscription is. Ours stands at its home alone, so three kinds of
columns go from one subscription partition to another: `Hits`, from where a pair was found to the home; and after the
batch `Notices` (a threshold has moved) and `Copies` (a subscription is to be held, with its buffer if that has moved).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearcast.spark.distribution.batches import MessageBatch, SubscriptionBatch
from nearcast.spark.topology.columns import Columns, Rows


@dataclass(frozen=True, eq=False)
class Messages(Columns):
    """Streams 1, 3 and 4."""

    seqs: Rows
    times: NDArray[np.int64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    offsets: Rows
    terms: NDArray[np.uint32]
    weights: NDArray[np.float32]

    def batch(self) -> MessageBatch:
        """As a mechanism reads them."""
        return MessageBatch(np.column_stack([self.x, self.y]), self.offsets, self.terms, self.weights)


@dataclass(frozen=True, eq=False)
class Newcomers(Columns):
    """Streams 2 and 3: new subscriptions, to the partition that asks for their first list."""

    numbers: Rows
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    alphas: NDArray[np.float32]
    ks: NDArray[np.uint32]
    offsets: Rows
    terms: NDArray[np.uint32]
    weights: NDArray[np.float32]

    def batch(self) -> SubscriptionBatch:
        """As a mechanism reads them: with no threshold yet."""
        places, thetas = np.column_stack([self.x, self.y]), np.zeros(self.rows, np.float32)
        return SubscriptionBatch(
            self.numbers, places, self.alphas, thetas, self.offsets, self.terms, self.weights, None
        )


@dataclass(frozen=True, eq=False)
class Hits(Columns):
    """From where a pair is counted to where the buffer is: this message scores enough for this subscription."""

    numbers: Rows
    homes: NDArray[np.int32]
    seqs: Rows
    scores: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Requests(Columns):
    """Stream 5: the `ranks` best live messages are wanted for these subscriptions."""

    numbers: Rows
    homes: NDArray[np.int32]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    alphas: NDArray[np.float32]
    ranks: Rows
    offsets: Rows
    terms: NDArray[np.uint32]
    weights: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Partials(Columns):
    """Stream 6: of one message partition, all messages that can be among the `ranks` best, in the order of lists."""

    numbers: Rows
    homes: NDArray[np.int32]
    ranks: Rows
    works: NDArray[np.float64]
    offsets: Rows
    scores: NDArray[np.float32]
    seqs: Rows


@dataclass(frozen=True, eq=False)
class Answers(Columns):
    """Stream 7: every live message that scores at least theta, in the order of lists."""

    numbers: Rows
    homes: NDArray[np.int32]
    thetas: NDArray[np.float32]
    works: NDArray[np.float64]
    offsets: Rows
    scores: NDArray[np.float32]
    seqs: Rows


@dataclass(frozen=True, eq=False)
class Notices(Columns):
    """From a home to those who hold the subscription already: its threshold, and where and how it stands now."""

    numbers: Rows
    goals: NDArray[np.int32]
    homes: NDArray[np.int32]
    holders: NDArray[np.int32]
    placed: NDArray[np.int32]
    thetas: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Copies(Columns):
    """From a home to those who shall hold the subscription from now on; its buffer goes to a new home alone."""

    numbers: Rows
    goals: NDArray[np.int32]
    homes: NDArray[np.int32]
    holders: NDArray[np.int32]
    placed: NDArray[np.int32]
    thetas: NDArray[np.float32]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    alphas: NDArray[np.float32]
    ks: NDArray[np.uint32]
    offsets: Rows
    terms: NDArray[np.uint32]
    weights: NDArray[np.float32]
    entry_offsets: Rows
    entry_scores: NDArray[np.float32]
    entry_seqs: Rows
