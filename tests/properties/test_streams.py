"""Random streams: after every operation the engine agrees with the reference, whatever its settings.

`NEARCAST_OPERATIONS` sets how many operations there are in all; the default is what `make test` promises.
"""

import os
import random

import pytest

from nearcast.reference import ReferenceEngine
from support.compare import compare
from support.implementations import any_engine

OPERATIONS = int(os.environ.get("NEARCAST_OPERATIONS", "200000"))
PER_WORLD = 250
PARTS = 20


@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_agrees_with_the_reference(part, seed, counted):
    for number in range(part, -(-OPERATIONS // PER_WORLD), PARTS):
        world = seed * 1_000_000 + number
        engine = any_engine(random.Random(world))
        counted["operations"] += compare(engine, ReferenceEngine, world, PER_WORLD)
        counted["worlds"] += 1


@pytest.mark.lanes
def test_a_few_short_streams(seed, counted):
    for number in range(4):
        world = seed * 1_000_000 + 900_000 + number
        counted["operations"] += compare(any_engine(random.Random(world)), ReferenceEngine, world, 40)
        counted["worlds"] += 1
