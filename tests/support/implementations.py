"""Every engine that the contract tests and the random streams hold to the semantics."""

from functools import partial

from nearcast.engine import Engine
from nearcast.reference import ReferenceEngine
from nearcast.tuning import Pruning, Tuning


class EngineWithIRTree(Engine):
    """The engine in front of the paper's message index."""

    def __init__(self, *args, message_index="irtree", **settings):
        super().__init__(*args, message_index=message_index, **settings)


IMPLEMENTATIONS = [ReferenceEngine, Engine, EngineWithIRTree]


def any_engine(rng):
    """An engine with settings at random, mostly such that everything is split, sealed and merged early."""
    engine = EngineWithIRTree if rng.random() < 0.15 else Engine
    if rng.random() < 0.3:
        return engine
    rules = Pruning(**{name: rng.random() < 0.7 for name in Pruning.__dataclass_fields__})
    tuning = Tuning(
        pruning=rng.choice((Pruning(), rules)),
        order=rng.choice(("blocks", "paper")),
        cell_limit=rng.choice((1, 3, 8, 60, 1000)),
        alpha_groups=rng.choice((1, 2, 3, 10)),
        head_messages=rng.choice((1, 2, 5, 16, 64, 2048)),
        segment_messages=rng.choice((1, 8, 32, 65536)),
        rank=rng.choice((None, None, 1, 3, 40, 5000)),
    )
    return partial(engine, threads=rng.choice((1, 1, 2, 3)), tuning=tuning)
