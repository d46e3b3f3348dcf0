"""Lists of over a thousand postings: cells of our order, cells and groups of the paper's, packed, moved, emptied."""

from functools import partial

import pytest

from nearcast import invariants
from nearcast.engine import Engine
from nearcast.kernels import layout
from nearcast.reference import ReferenceEngine
from nearcast.tuning import Tuning
from support.compare import compare
from support.streams import World

ORDERS = {
    "blocks": Tuning(head_messages=16, segment_messages=32),
    "blocks, low thresholds": Tuning(head_messages=4, rank=60),
    "paper": Tuning(order="paper", cell_limit=100, alpha_groups=3),
    "paper, small cells": Tuning(order="paper", cell_limit=20, rank=1),
}


@pytest.mark.parametrize("order", ORDERS)
def test_long_lists_agree_with_the_reference(order, seed, counted):
    engines = []
    for number in range(2):
        world = seed * 1_000_000 + 940_000 + number
        factory = partial(Engine, tuning=ORDERS[order])
        counted["operations"] += compare(
            factory, ReferenceEngine, world, 120, crowded=1500, prepare=lambda engine, _: engines.append(engine)
        )
        counted["worlds"] += 1
    postings = [shard.postings.lists[:8] for engine in engines for shard in engine._shards]
    assert max(lists[:, layout.L_COUNT].max() for lists in postings) > layout.CELL
    assert sum(shard.counters[layout.N_PACKS] for engine in engines for shard in engine._shards) > 5


@pytest.mark.parametrize("order", ["blocks", "paper"])
def test_long_lists_are_emptied_and_grow_again(order, seed):
    world = World(seed, refusals=False, crowded=1500)
    engine = world.engine(partial(Engine, tuning=Tuning(order=order, cell_limit=50)))
    for _ in range(2):
        while engine.subscriptions < 1480:
            world.next(list(engine)).on(engine)
        ids = list(engine)
        world.rng.shuffle(ids)
        for number, id in enumerate(ids):
            engine.unsubscribe(id)
            if number % 250 == 0:
                invariants.check(engine)
        invariants.check(engine)
    shard = engine._shards[0]
    assert not shard.live
    assert int(shard.subscriptions.control[layout.C_ENTRIES]) == 0
