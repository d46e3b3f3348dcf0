"""Slots are dense and reused, registration numbers never; ids keep the order of registration."""

import random

import numpy as np
import pytest

from nearcast.errors import UnknownSubscription
from nearcast.registry import PAGE, Registry


def add(registry, *ids):
    count = len(ids)
    values = np.arange(count, dtype=float)
    return registry.add(ids, values, values + 0.5, np.full(count, 0.25, np.float32), np.arange(1, count + 1))


def test_slots_are_reused_and_numbers_are_not():
    registry = Registry()
    slots, numbers = add(registry, "a", "b", "c")
    assert (slots.tolist(), numbers.tolist()) == ([0, 1, 2], [0, 1, 2])
    registry.remove("b")
    registry.remove("a")
    slots, numbers = add(registry, "d", "e", "f", "b")
    assert sorted(slots.tolist()) == [0, 1, 3, 4]
    assert numbers.tolist() == [3, 4, 5, 6]
    assert list(registry) == ["c", "d", "e", "f", "b"]
    assert registry.ids(slots) == ["d", "e", "f", "b"]


def test_what_was_registered_is_found_across_pages():
    registry = Registry()
    ids = [f"s{i}" for i in range(2 * PAGE + 10)]
    add(registry, *ids)
    for i in (0, PAGE - 1, PAGE, 2 * PAGE + 9):
        row = registry.row(registry.slot(f"s{i}"))
        assert row == (i, float(i), i + 0.5, 0.25, i + 1)
        assert [type(value) for value in row] == [int, float, float, float, int]


@pytest.mark.parametrize("id", ["b", 7, None, ["a"]])
def test_an_unknown_id(id):
    registry = Registry()
    add(registry, "a")
    with pytest.raises(UnknownSubscription):
        registry.slot(id)


def test_a_random_history_against_a_dictionary_also_after_loading(seed):
    rng = random.Random(seed)
    registry, model, number = Registry(), {}, 0
    for step in range(300):
        if model and rng.random() < 0.4:
            id = rng.choice(list(model))
            registry.remove(id)
            del model[id]
        else:
            ids = [f"{step}.{i}" for i in range(rng.randint(1, 5))]
            slots, numbers = add(registry, *ids)
            for id, slot in zip(ids, slots.tolist(), strict=True):
                model[id] = (slot, number)
                number += 1
            assert numbers.tolist() == [model[id][1] for id in ids]
        if step % 50 == 25:
            registry = Registry.load(registry.save())
        assert list(registry) == list(model)
        assert len({slot for slot, _ in model.values()}) == len(model) == len(registry)
        for id, (slot, its_number) in model.items():
            assert registry.slot(id) == slot
            assert registry.row(slot).number == its_number
            assert registry.ids(np.array([slot])) == [id]
