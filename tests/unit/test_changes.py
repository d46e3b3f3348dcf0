"""Columns, tuples and tables of changes say the same, and `replay` refuses what does not fit."""

import pytest

from nearcast.changes import CAUSES, KINDS, NO_CHANGES, SCHEMA, as_changes, as_table, columns_of, from_table, replay
from nearcast.model import Change

NAMES = {3: "a", 70: "b", 5_000: "c"}


def ids(slots):
    return [NAMES[slot] for slot in slots.tolist()]


def test_columns_tuples_and_tables_say_the_same():
    rows = [(7, 70, 0, 5, 2, 0.25, 1), (7, 3, 1, 7, 1, 0.5, 0), (8, 70, 1, 6, 2, 0.125, 3), (8, 5_000, 0, 1, 9, 1.0, 2)]
    columns = columns_of(rows)
    expected = [
        Change(7, "b", "left", 5, 2, 0.25, "displaced"),
        Change(7, "a", "entered", 7, 1, 0.5, "arrived"),
        Change(8, "b", "entered", 6, 2, 0.125, "refilled"),
        Change(8, "c", "left", 1, 9, 1.0, "expired"),
    ]
    assert as_changes(columns, ids) == expected
    table = as_table(columns, ids)
    assert table.schema == SCHEMA
    assert from_table(table) == expected
    assert len(table.column("subscription").chunk(0).dictionary) == 3


def test_few_and_many_distinct_subscriptions_give_the_same_table(rng):
    slots = rng.integers(0, 300, 2000)
    rows = [(i, int(slot), i % 2, i, 1, 0.5, i % len(CAUSES)) for i, slot in enumerate(slots)]
    columns = columns_of(rows)  # dense slots: marked
    spread = columns._replace(subscription=columns.subscription * 1_000_003)  # far apart: sorted
    dense = as_table(columns, lambda slots: [str(slot) for slot in slots])
    sparse = as_table(spread, lambda slots: [str(slot // 1_000_003) for slot in slots])
    assert from_table(dense) == from_table(sparse)
    assert dense.column("subscription").to_pylist() == [str(slot) for slot in slots]


def test_no_changes():
    assert as_changes(NO_CHANGES, ids) == []
    assert as_table(NO_CHANGES, ids).num_rows == 0
    assert as_table(NO_CHANGES, ids).schema == SCHEMA


def test_codes_are_those_that_kernels_write():
    assert KINDS == ("left", "entered")
    assert CAUSES == ("arrived", "displaced", "expired", "refilled", "registered", "unsubscribed")


def change(kind, message, rank, id="a"):
    return Change(0, id, kind, message, rank, 0.5, "arrived")


def test_replay_rebuilds_lists():
    lists = replay(
        {}, [change("entered", 5, 1), change("entered", 6, 1), change("entered", 1, 3), change("entered", 1, 1, "b")]
    )
    assert [message for message, _ in lists["a"]] == [6, 5, 1]
    replay(lists, [change("left", 6, 1), change("left", 1, 3), change("entered", 8, 1), change("left", 1, 1, "b")])
    assert {id: [message for message, _ in ranked] for id, ranked in lists.items()} == {"a": [8, 5]}


def test_replay_takes_a_table():
    table = as_table(columns_of([(0, 3, 1, 0, 1, 0.5, 0)]), ids)
    assert replay({}, table) == {"a": [(0, 0.5)]}


@pytest.mark.parametrize("wrong", [change("left", 4, 1), change("entered", 4, 3), change("entered", 4, 0)])
def test_replay_refuses_what_does_not_fit(wrong):
    with pytest.raises(ValueError, match="message=4"):
        replay({"a": [(5, 0.5)]}, [wrong])
