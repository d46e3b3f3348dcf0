"""Prefix (paper 7.3.4): as `keyword`, but a subscription is placed only by its loose prefix.

**Definition (Loose Prefix).** The first p words of s, rare first, with the least p such that wtsum(s[p + 1]), the
weights of all later words together, is below TSimLB = (theta - alpha) / (1 - alpha): what words must bring if m were at
the very place of s. Undivided, so that alpha = 1 is no case: p is the least with

    alpha * 1 + (1 - alpha) * wtsum(s[p + 1]) < theta - SLACK.

**A pair whose common words all lie beyond p cannot reach theta.** SSim is at most 1. A weight of m is at most 1, so
TSim, the sum of products over words beyond p, is at most wtsum(s[p + 1]). So the score in real numbers is below
theta - SLACK, and rounding it to float32 lifts it by less than SLACK: it is below theta. With alpha = 1 the left side
is 1 for every p: all words (theta <= 1), as any common word may do. With theta = 0: all words. With alpha = 0 text
alone must bring theta.

**Who counts a pair.** The first common word decides, as in `keyword`. If any common word lies in the prefix, the first
one does, and its partition was given both. If none does, the pair can affect nothing: nobody owns it.

**Lazy reallocation.** A threshold that rises would shorten the prefix, and nothing is done. Only a fall that makes it
cover more words than the subscription is `placed` by moves it (`needs_move`). So whoever stores a subscription keeps
`placed`, and owners are told by that, not by the threshold of the day. A fallen threshold must have moved its
subscription before the next message is routed.

`bound="length"` is ours: sqrt of the squares' sum in place of wtsum, by Cauchy-Schwarz, as a message's vector has unit
length. It is never longer than the paper's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nearcast.bounds import SLACK
from nearcast.errors import InvalidInput
from nearcast.kernels.jit import kernel
from nearcast.spark.distribution.batches import MessageBatch, SubscriptionBatch
from nearcast.spark.distribution.keyword import Keyword

UNIT = 1.0 + 2.0**-17
"""No message's vector is longer: 4096 weights, each rounded up by at most 2**-24, add at most 64 * 2**-24 to length 1;
and twice that to spare."""


@dataclass(frozen=True, eq=False)
class Prefix(Keyword):
    """The same cells, given to fewer."""

    bound: str
    kind: ClassVar[str] = "prefix"

    def __post_init__(self) -> None:
        if self.bound not in ("sum", "length"):
            raise InvalidInput("bound", f"must be 'sum' (the paper's) or 'length', not {self.bound!r}")

    @classmethod
    def fit(
        cls,
        subscriptions: SubscriptionBatch,
        messages: MessageBatch,
        partitions: int,
        vocabulary: int = 0,
        bound: str = "sum",
        **settings: Any,
    ) -> Self:
        """KeywordPartition on samples, N(W) counting those whose loose prefix has a word of W."""
        return super().fit(subscriptions, messages, partitions, vocabulary, bound=bound, **settings)

    def placed(self, subscriptions: SubscriptionBatch) -> NDArray[np.int32]:
        return self.prefixes(subscriptions) if subscriptions.placed is None else subscriptions.placed

    def prefixes(self, subscriptions: SubscriptionBatch) -> NDArray[np.int32]:
        """How many words each loose prefix has at the threshold of now."""
        s = subscriptions
        return loose_prefixes(s.offsets, s.weights, s.alpha, s.theta, self.bound == "length")

    def needs_move(self, subscriptions: SubscriptionBatch) -> NDArray[np.bool_]:
        return self.prefixes(subscriptions) > self.placed(subscriptions)


@kernel
def loose_prefixes(
    offsets: NDArray[np.int64],
    weights: NDArray[np.float32],
    alpha: NDArray[np.float32],
    theta: NDArray[np.float32],
    by_length: bool,
) -> NDArray[np.int32]:
    """The number of words of each loose prefix, found from the last word on: what is left only grows."""
    prefixes = np.zeros(len(alpha), np.int32)
    for i in range(len(alpha)):
        near = np.float64(alpha[i])
        left = 0.0
        for place in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            weight = np.float64(weights[place])
            left += weight * weight if by_length else weight
            text = math.sqrt(left) * UNIT if by_length else left
            if near + (1.0 - near) * text >= np.float64(theta[i]) - SLACK:
                prefixes[i] = place - offsets[i] + 1
                break
    return prefixes
