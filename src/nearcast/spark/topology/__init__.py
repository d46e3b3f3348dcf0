"""DSkype's components as plain objects, and the columns that travel between them (paper 7.2). Spark is not needed.

`Topology` runs all of them in one process and says in which order. Read `streams` for what travels, then `distribute`,
`subscriptions` (with `tenants` and `placement`), `messages`, `aggregation`; `clock` counts what is global.
"""

from nearcast.spark.topology.aggregation import aggregate
from nearcast.spark.topology.clock import Clock, Tick
from nearcast.spark.topology.columns import Columns
from nearcast.spark.topology.distribute import Distributed, distribute
from nearcast.spark.topology.messages import MessagePartition
from nearcast.spark.topology.placement import Placement, place
from nearcast.spark.topology.report import BatchReport
from nearcast.spark.topology.streams import Answers, Copies, Hits, Messages, Newcomers, Notices, Partials, Requests
from nearcast.spark.topology.subscriptions import Outcome, SubscriptionPartition
from nearcast.spark.topology.topology import Batch, Done, Topology, gathered

__all__ = [
    "Answers",
    "Batch",
    "BatchReport",
    "Clock",
    "Columns",
    "Copies",
    "Distributed",
    "Done",
    "Hits",
    "MessagePartition",
    "Messages",
    "Newcomers",
    "Notices",
    "Outcome",
    "Partials",
    "Placement",
    "Requests",
    "SubscriptionPartition",
    "Tick",
    "Topology",
    "aggregate",
    "distribute",
    "gathered",
    "place",
]
