"""Streams and subscriptions for benchmarks: the paper's three data sets imitated, or a file.

`load("tweets", 1_020_000, seed=1)` or `load("venues.parquet", …)` gives a `Workload`: tables of messages, a space, and
what `subscriptions` makes subscriptions from by the paper's recipe. The same name and seed give the same messages, in
whatever batches they are asked for.
"""

from __future__ import annotations

from os import PathLike, fspath

from nearcast.bench.workloads.files import FileWorkload
from nearcast.bench.workloads.recipe import GN, RECIPES, TWEETS, YELP, Recipe
from nearcast.bench.workloads.statistics import Description, describe
from nearcast.bench.workloads.subscriptions import subscription_tables, subscriptions
from nearcast.bench.workloads.synthetic import Synthetic
from nearcast.bench.workloads.workload import Encoded, Workload
from nearcast.errors import InvalidInput

__all__ = [
    "GN",
    "RECIPES",
    "TWEETS",
    "YELP",
    "Description",
    "Encoded",
    "FileWorkload",
    "Recipe",
    "Synthetic",
    "Workload",
    "describe",
    "load",
    "subscription_tables",
    "subscriptions",
]


def load(
    name: str | PathLike[str], messages: int, seed: int = 1, *, rate: float | None = None, bursts: float = 1.0
) -> Workload:
    """`tweets`, `gn`, `yelp` or a Parquet file's path.

    `rate` is messages a second (1000 unless given); `bursts` = b > 1 lets half of each minute's messages come b times
    faster. Giving either to a file that has times replaces them.
    """
    name = fspath(name)
    if name in RECIPES:
        return Synthetic(RECIPES[name], messages, seed, rate, bursts)
    if name.endswith(".parquet"):
        return FileWorkload(name, messages, seed, rate, bursts)
    raise InvalidInput("workload", f"takes {', '.join(RECIPES)} or the path of a .parquet file, not {name!r}")
