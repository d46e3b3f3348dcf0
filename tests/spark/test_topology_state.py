"""A topology that is saved and restored, or whose mechanism changes, goes on as if nothing had been."""

import dataclasses

import numpy as np
import pytest

from nearcast import checkpoint
from nearcast.kernels import layout
from nearcast.snapshot import Contents
from nearcast.spark import distribution, topology
from nearcast.spark.distribution import SubscriptionBatch
from nearcast.spark.topology import Columns, MessagePartition, SubscriptionPartition, Topology, subscriptions
from nearcast.state import Arenas
from support.distribution import SETTINGS
from support.topology import Life

EACH = pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)


def through_file(saved, path):
    checkpoint.write(path, "topology", 1, {}, saved)
    return checkpoint.read(path, "topology", 1)[1]


@EACH
def test_a_restored_topology_goes_on(rng, name, settings, tmp_path):
    for turn in range(3):
        life = Life(rng, name, settings, every=2)
        for step in range(12):
            if step % 4 == 3:
                saved = through_file(life.topology.save(), tmp_path / f"{turn}-{step}")
                before = life.topology.save()
                life.topology = Topology.restored(saved, life.world.window, life.world.space, life.tuning)
                same(life.topology.save(), before)
            life.step()


def same(got, want):
    assert got.keys() == want.keys()
    for part, contents in want.items():
        assert got[part].meta == contents.meta
        assert got[part].arrays.keys() == contents.arrays.keys()
        for column, array in contents.arrays.items():
            np.testing.assert_array_equal(got[part].arrays[column], array, err_msg=f"{part} {column}", strict=True)


@EACH
def test_one_partition_recovered_by_snapshot_and_replay(rng, name, settings):
    """What a partition is told since its snapshot, told again to the restored one, gives the same columns out."""
    life = Life(rng, name, settings, partitions=3)
    for _ in range(6):
        life.step()
    number = int(rng.integers(3))
    lost, keeper = life.topology.partitions[number], life.topology.keepers[0]
    saved, kept = lost.save(), keeper.save()
    told = [record(partition, stages) for partition, stages in ((lost, STAGES), (keeper, ("take_in",)))]
    for _ in range(6):
        life.step()
    again = SubscriptionPartition.restored(saved, number, life.mechanism, life.world.space, life.tuning)
    for stage, columns, answer in told[0]:
        equal(getattr(again, stage)(*columns), answer)
    assert again.save().arrays.keys() == lost.save().arrays.keys()
    for column, array in lost.save().arrays.items():
        np.testing.assert_array_equal(again.save().arrays[column], array, strict=True)
    assert again.save().meta["planner"] == lost.save().meta["planner"]
    other = MessagePartition.restored(kept, 0, len(life.topology.keepers), life.world.space, life.tuning)
    for stage, columns, answer in told[1]:
        equal(getattr(other, stage)(*columns), answer)
    for column, array in keeper.save().arrays.items():
        np.testing.assert_array_equal(other.save().arrays[column], array, strict=True)


STAGES = ("remove", "disseminate", "take", "load", "receive")


def record(partition, stages):
    """Keep what these stages are given and what they answer."""
    told = []

    def wrapped(stage, call):
        def run(*columns):
            answer = call(*columns)
            told.append((stage, columns, answer))
            return answer

        return run

    for stage in stages:
        setattr(partition, stage, wrapped(stage, getattr(partition, stage)))
    return told


def equal(got, want):
    """Columns, or tuples of columns, with the same rows in the same order."""
    if isinstance(want, Columns):
        got, want = ([getattr(each, name) for name in want.names()] for each in (got, want))
    if isinstance(want, tuple | list):
        for one, other in zip(got, want, strict=True):
            equal(one, other)
    else:
        np.testing.assert_array_equal(got, want, strict=True)


@EACH
def test_partitions_split_and_merged(rng, name, settings):
    """Between batches the mechanism changes: who must move moves, with its buffer, and no list notices."""
    split = merged = 0
    for _ in range(4):
        life = Life(rng, name, settings)
        for _ in range(12):
            life.step()
            mechanism = life.topology.mechanism
            hot, *others = rng.permutation(mechanism.live).tolist()
            if others and rng.random() < 0.4:
                mechanism, merged = distribution.merge(mechanism, hot, others[0]), merged + 1
            elif mechanism.partitions < 8:
                held = [partition.batch(partition.homed()) for partition in life.topology.partitions]
                parts = distribution.split(mechanism, hot, joined(held), life_messages(life))
                mechanism, split = (mechanism, split) if parts is None else (parts, split + 1)
            life.topology.adapt(mechanism)
            life.compare()
            life.check_structures()
    assert split and merged


@EACH
def test_another_mechanism_takes_over(rng, name, settings):
    life = Life(rng, name, settings, partitions=3)
    for other, more in SETTINGS:
        for _ in range(2):
            life.step()
        life.topology.adapt(life.fit(other, more, len(life.topology.partitions)))
        life.check_structures()


def joined(batches):
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(batch.offsets) for batch in batches]))])
    columns = {
        field: np.concatenate([getattr(batch, field) for batch in batches]) for field in SubscriptionBatch._fields
    }
    return SubscriptionBatch.of(**{**columns, "offsets": offsets})


def life_messages(life):
    live = life.live()
    places = np.zeros((live.end - live.first, 2)) + life.world.centre
    return distribution.MessageBatch.of(places, live.offsets, live.terms, live.weights)


SLOTS = layout.SLOT_MASK + 1


@pytest.mark.parametrize("ring", [SLOTS, 3 * SLOTS, 1 << 31, 1 << 32, 3 << 32])
def test_numbers_that_come_round_again(rng, monkeypatch, ring):
    """Slots and stamps of messages, the stream's own and those of three message partitions; restored on the way."""
    monkeypatch.setattr(subscriptions, "STRIDE", 4)
    released = []
    monkeypatch.setattr(Arenas, "release", lambda self, name, first, last, *rest: released.append((name, first, last)))
    for name, settings in SETTINGS[:6]:
        life = Life(rng, name, settings, keepers=3)
        start = ring - int(rng.choice([1, 7, 40]))
        life.start_at(start)
        released.clear()
        for step in range(14):
            life.step()
            clock = life.topology.clock
            assert all(start <= first < last <= clock.live for due, first, last in released if due == "due")
            if step % 5 == 4:
                saved = life.topology.save()
                life.topology = Topology.restored(saved, life.world.window, life.world.space, life.tuning)
        assert released or clock.live < start + 4


def test_a_state_that_is_not_sound_is_refused(rng):
    life = Life(rng, "hashing", {}, partitions=1, keepers=1)
    while not any(len(p.save().arrays["held.entry_seqs"]) for p in life.topology.partitions):
        life.step()
    saved = life.topology.save()
    for part, column, change in (
        ("subscriptions-0", "held.entry_seqs", lambda seqs: seqs + 10**6),
        ("subscriptions-0", "held.weights", lambda weights: weights * 0),
        ("messages-0", "messages.offsets", lambda offsets: offsets + 1),
    ):
        arrays = saved[part].arrays
        bad = saved | {part: Contents(saved[part].meta, arrays | {column: change(arrays[column])}, {})}
        with pytest.raises(ValueError, match="not sound"):
            Topology.restored(bad, life.world.window, life.world.space, life.tuning)


def test_all_public_names_exist():
    assert all(hasattr(topology, name) for name in topology.__all__)
    assert dataclasses.is_dataclass(topology.BatchReport)
