"""Streams across the end of every ring of numbers: slots, stamps, terms, postings, runs.

No test could publish 2**32 messages: engines are started shortly before the end of a ring, and a stream leads across.
"""

import random

import pytest

from nearcast import invariants, trim
from nearcast.engine import Engine
from nearcast.envelopes import Envelopes
from nearcast.kernels import layout
from nearcast.reference import ReferenceEngine
from support.compare import compare
from support.implementations import any_engine
from support.state import answers
from support.streams import World

SLOTS = layout.SLOT_MASK + 1
STARTS = {"slots": SLOTS, "half of the stamps": 1 << 31, "stamps": 1 << 32, "stamps again": 5 << 32}


class StartsLate(ReferenceEngine):
    """A reference whose first message need not be 0."""

    def _first_live(self, newest, now):
        return max(self._log.start, super()._first_live(newest, now))


def start_at(engine, seq):
    """The next message of a new engine is `seq`, as after so many messages that have all expired."""
    engine._log = Envelopes(seq)
    if isinstance(engine, ReferenceEngine):
        return
    engine._messages.control[[layout.A_FIRST, layout.A_NEXT]] = seq
    engine._index.control[[layout.I_HEAD_FIRST, layout.I_SMALL_FIRST]] = seq
    engine._trimmer.begin()


def fill_rings(engine, terms, postings, runs):
    """An engine whose rings are full but for so many places."""
    engine._messages.control[layout.A_TERMS] = layout.TERM_RING - terms
    engine._index.control[layout.I_POSTINGS + 1] = layout.POSTING_RING - postings
    engine._index.control[layout.I_RUNS + 1] = layout.RUN_RING - runs


@pytest.mark.lanes
@pytest.mark.parametrize("ring", STARTS)
def test_streams_across_the_end_of_a_ring(ring, seed, counted):
    for number in range(6):
        world = seed * 1_000_000 + 910_000 + number
        rng = random.Random(world)
        before = rng.choice((1, 7, 40))
        engines = []

        def prepare(engine, reference, before=before, engines=engines):
            engines.append(engine)
            for each in (engine, reference):
                start_at(each, STARTS[ring] - before)

        counted["operations"] += compare(any_engine(rng), StartsLate, world, 120, prepare=prepare)
        counted["worlds"] += 1
        assert engines[0].newest_seq > STARTS[ring]


def test_an_engine_is_restored_around_the_end_of_the_stamps(seed, tmp_path):
    world = World(seed, refusals=False, crowded=True)
    engine = world.engine(any_engine(random.Random(seed)))
    start_at(engine, (1 << 32) - 30)
    for _ in range(200):
        world.next(list(engine)).on(engine)
        if not engine.newest_seq % 10:
            engine.snapshot(tmp_path / "snapshot")
            other = Engine.restore(tmp_path / "snapshot")
            invariants.check(other)
            operations = [world.next(list(engine)) for _ in range(5)]
            assert [operation.on(other) for operation in operations] == [
                operation.on(engine) for operation in operations
            ]
            assert answers(other) == answers(engine)
            invariants.check(other)
    assert engine.newest_seq > 1 << 32


@pytest.mark.lanes
def test_streams_across_the_end_of_the_rings_of_terms_and_postings(seed, counted):
    for number in range(12):
        world = seed * 1_000_000 + 920_000 + number
        rng = random.Random(world)
        rings = rng.choice((0, 3, 100)), rng.choice((1, 40, 500)), rng.choice((0, 2, 30))

        def prepare(engine, reference, rings=rings):
            fill_rings(engine, *rings)

        counted["operations"] += compare(any_engine(rng), StartsLate, world, 120, prepare=prepare)
        counted["worlds"] += 1


def test_memory_is_given_back_across_the_end_of_every_ring(seed, counted, monkeypatch):
    monkeypatch.setattr(trim, "STRIDE", 1)
    for number in range(6):
        world = seed * 1_000_000 + 930_000 + number

        def prepare(engine, reference):
            fill_rings(engine, 2000, 3000, 100)
            for each in (engine, reference):
                start_at(each, (1 << 32) - 300)

        crowded = number % 2 == 0
        engine = any_engine(random.Random(world))
        counted["operations"] += compare(engine, StartsLate, world, 400, prepare=prepare, crowded=crowded)
        counted["worlds"] += 1
