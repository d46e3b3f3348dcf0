"""Where subscriptions and messages go (paper 7.3): four mechanisms, two hybrids, their upkeep. Spark is not needed.

`fit("prefix", subscriptions, messages, 8)` gives a `Mechanism`: read `mechanism` for its promise, then `hashing`,
`location` (`kdtree`), `keyword` (`ranges`), `prefix`, `hybrid`; `maintenance` splits and merges partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from nearcast.errors import InvalidInput
from nearcast.spark.distribution.batches import MessageBatch, SubscriptionBatch
from nearcast.spark.distribution.hashing import Hashing
from nearcast.spark.distribution.hybrid import Hybrid
from nearcast.spark.distribution.keyword import Keyword
from nearcast.spark.distribution.location import Location
from nearcast.spark.distribution.maintenance import Advice, Moves, advise, merge, moves, split
from nearcast.spark.distribution.mechanism import Mechanism
from nearcast.spark.distribution.prefix import Prefix
from nearcast.spark.distribution.routes import Routes, communication_cost, replication_ratio

__all__ = [
    "MECHANISMS",
    "Advice",
    "Hashing",
    "Hybrid",
    "Keyword",
    "Location",
    "Mechanism",
    "MessageBatch",
    "Moves",
    "Prefix",
    "Routes",
    "SubscriptionBatch",
    "advise",
    "communication_cost",
    "fit",
    "merge",
    "moves",
    "replication_ratio",
    "split",
]

MECHANISMS: Mapping[str, Callable[..., Mechanism]] = MappingProxyType(
    {
        "hashing": Hashing.fit,
        "location": Location.fit,
        "keyword": Keyword.fit,
        "prefix": Prefix.fit,
        "spatial-first": Hybrid.spatial_first,
        "keyword-first": Hybrid.keyword_first,
    }
)
"""By the paper's names."""


def fit(
    name: str, subscriptions: SubscriptionBatch, messages: MessageBatch, partitions: int, **settings: Any
) -> Mechanism:
    """The mechanism of this name, fitted on samples: the subscriptions there are and messages of the past.

    Settings: `vocabulary` (how many words there are) wherever words are split, `bound` ("sum", the paper's, or
    "length") with a prefix, `parts` (l1) and `words` (Prefix, the paper's, or Keyword) in the hybrids.
    """
    if name not in MECHANISMS:
        raise InvalidInput("mechanism", f"must be one of {', '.join(MECHANISMS)}, not {name!r}")
    return MECHANISMS[name](subscriptions, messages, partitions, **settings)
