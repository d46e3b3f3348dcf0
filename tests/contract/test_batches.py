"""Arrow batches: the same as one by one; bad rows are reported, or the whole batch is refused, as the caller chose."""

import random
from datetime import datetime

import pyarrow as pa
import pytest

from nearcast.changes import SCHEMA, from_table
from nearcast.errors import InvalidBatch, InvalidInput
from nearcast.model import last, within
from support.state import answers, seqs, state

MESSAGES = {"text": ["ramen", "vegan ramen", "soup"], "x": [1.0, 2.0, 3.0], "y": [1.0, 1.0, 1.0], "time": [5, 4, 9]}
SUBSCRIPTIONS = {
    "id": ["a", "b", "c"],
    "text": ["ramen", "vegan", "soup ramen"],
    "x": [1.0, 2.0, 3.0],
    "y": [1.0, 1.0, 1.0],
    "k": [1, 2, 3],
    "alpha": [0.0, 0.5, 1.0],
}


def table(columns, **changed):
    return pa.table({name: values for name, values in (columns | changed).items() if values is not None})


def words(rng):
    return " ".join(rng.choices(["ramen", "soup", "vegan", "tea", "news"], k=rng.randint(0, 4)))


@pytest.mark.parametrize("window", [last(7), within(milliseconds=20)], ids=str)
def test_a_batch_is_the_same_as_one_by_one(make, seed, window):
    rng = random.Random(seed)
    one, many = make(window), make(window)
    for round in range(6):
        new = {"id": [f"{round}.{i}" for i in range(5)], "text": [words(rng) + " ramen" for _ in range(5)]}
        new |= {axis: [rng.uniform(0, 3) for _ in range(5)] for axis in "xy"}
        new |= {"k": [rng.randint(1, 9) for _ in range(5)], "alpha": [rng.random() for _ in range(5)]}
        changes = []
        for id, text, x, y, k, alpha in zip(*new.values(), strict=True):
            changes += one.subscribe(id, text, at=(x, y), k=k, alpha=alpha)
        assert from_table(many.subscribe_many(pa.table(new))) == changes
        sent = {"text": [words(rng) for _ in range(40)]} | {
            axis: [rng.uniform(0, 3) for _ in range(40)] for axis in "xy"
        }
        sent |= {"time": [round * 60 + rng.randint(0, 50) for _ in range(40)]}
        changes = []
        for text, x, y, time in zip(*sent.values(), strict=True):
            changes += one.publish(text, at=(x, y), time=time)
        assert from_table(many.publish_many(pa.table(sent))) == changes
        assert answers(many) == answers(one)


def test_changes_come_as_a_table_of_one_schema(make):
    engine = make()
    engine.subscribe_many(table(SUBSCRIPTIONS))
    changes = engine.publish_many(table(MESSAGES))
    assert changes.schema == SCHEMA
    assert engine.publish_many(table(MESSAGES).slice(0, 0)).schema == SCHEMA
    assert {change.cause for change in from_table(changes)} >= {"arrived"}


def test_defaults_of_missing_columns(make):
    engine = make()
    engine.subscribe_many(table(SUBSCRIPTIONS, k=None, alpha=None))
    assert (engine.subscription("a").k, engine.subscription("a").alpha) == (20, 0.5)
    engine.publish_many(table(MESSAGES, time=None))
    assert abs(engine.time - datetime.now().timestamp() * 1000) < 60_000
    assert [(entry.id, entry.payload) for entry in engine.top("a")] == [(None, None)] * 2


def test_ids_and_payloads_travel_along(make):
    engine = make()
    engine.subscribe("a", "ramen", at=(1, 1))
    payload = pa.array([{"price": 5}, None, {"price": 7}])
    engine.publish_many(table(MESSAGES, id=["m", None, "o"], payload=payload))
    assert [(entry.id, entry.payload) for entry in engine.top("a")] == [("m", {"price": 5}), (None, None)]


@pytest.mark.parametrize(
    "changed",
    [
        {"text": pa.array(MESSAGES["text"], pa.large_string())},
        {"text": pa.array(MESSAGES["text"], pa.string_view())},
        {"text": pa.array(MESSAGES["text"]).dictionary_encode()},
        {"x": pa.array([1, 2, 3], pa.int8()), "y": pa.array([1, 1, 1], pa.uint64())},
        {"x": pa.array([1.0, 2.0, 3.0], pa.float32()), "y": pa.array([1.0, 1.0, 1.0], pa.float16())},
        {"time": pa.array([5, 4, 9], pa.timestamp("ms"))},
        {"time": pa.array([5_999, 4_000, 9_000], pa.timestamp("us", "UTC"))},
        {"time": pa.array([5_000_000, 4_000_000, 9_000_000], pa.timestamp("ns", "Europe/Berlin"))},
        {"time": pa.array([5, 4, 9], pa.uint64())},
        {"text": None, "keywords": [["ramen"], ["vegan", "ramen"], ["soup"]]},
        {"id": pa.array([None, None, None]), "payload": pa.array([None, None, None])},
        {"weather": ["is", "left", "alone"]},
    ],
    ids=lambda changed: " ".join(f"{name}:{getattr(values, 'type', 'list')}" for name, values in changed.items()),
)
def test_columns_of_every_fitting_type(make, changed):
    plain, other = make(), make()
    for engine in (plain, other):
        engine.subscribe_many(table(SUBSCRIPTIONS))
    assert other.publish_many(table(MESSAGES, **changed)).equals(plain.publish_many(table(MESSAGES)))
    assert answers(other) == answers(plain)


def test_keywords_with_weights(make):
    engine = make()
    maps = pa.array([[("ramen", 1.0)], [("ramen", 1.0), ("soup", 1.0)]], pa.map_(pa.string(), pa.float64()))
    engine.subscribe_many(pa.table({"id": ["a", "b"], "keywords": maps, "x": [0.0, 0.0], "y": [0.0, 0.0]}))
    assert engine.subscription("a").words == {"ramen": 1.0}
    assert engine.subscription("b").words["soup"] == pytest.approx(0.5**0.5)


def test_chunks_and_record_batches(make):
    engines = make(), make(), make()
    whole = table(MESSAGES)
    inputs = whole, pa.concat_tables([whole.slice(0, 1), whole.slice(1)]), whole.to_batches()[0]
    found = []
    for engine, given in zip(engines, inputs, strict=True):
        engine.subscribe_many(table(SUBSCRIPTIONS))
        engine.publish_many(given)
        found.append(answers(engine))
    assert found[0] == found[1] == found[2]


def test_empty_batches_are_batches_of_nothing(make):
    engine = make()
    before = state(engine)
    assert engine.publish_many(table(MESSAGES).slice(0, 0)).num_rows == 0
    assert engine.subscribe_many(table(SUBSCRIPTIONS).slice(3)).num_rows == 0
    assert state(engine) == before


@pytest.mark.parametrize(
    ("field", "changed"),
    [
        ("text", {"text": None}),
        ("text", {"keywords": [["a"], ["b"], ["c"]]}),
        ("x", {"x": None}),
        ("y", {"y": None}),
        ("text", {"text": [1, 2, 3]}),
        ("text", {"text": [b"a", b"b", b"c"]}),
        ("x", {"x": ["1", "2", "3"]}),
        ("x", {"x": [True, False, True]}),
        ("time", {"time": [1.0, 2.0, 3.0]}),
        ("time", {"time": ["1", "2", "3"]}),
        ("id", {"id": [1, 2, 3]}),
        ("keywords", {"text": None, "keywords": ["a", "b", "c"]}),
        ("keywords", {"text": None, "keywords": [[1], [2], [3]]}),
    ],
    ids=str,
)
def test_a_wrong_column_is_an_error_whatever_the_caller_chose(make, field, changed):
    engine = make()
    before = state(engine)
    for rejected in (None, []):
        with pytest.raises(InvalidInput) as caught:
            engine.publish_many(table(MESSAGES, **changed), rejected=rejected)
        assert caught.value.field == field
        assert not isinstance(caught.value, InvalidBatch)
        assert not rejected
    assert state(engine) == before


@pytest.mark.parametrize("given", [None, [], {"text": ["a"]}, "table", MESSAGES])
def test_what_is_no_table(make, given):
    with pytest.raises(InvalidInput, match="table: takes an Arrow table"):
        make().publish_many(given)


def test_a_column_that_stands_there_twice(make):
    twice = table(MESSAGES).append_column("x", pa.array([1.0, 1.0, 1.0]))
    with pytest.raises(InvalidInput, match="x: "):
        make().publish_many(twice)


NAN = float("nan")
BAD_MESSAGES = [
    ("text", "text", [None, "news1", "x" * 1_000_001]),
    ("text", "text", ["news1 news2", " ".join(f"new{i}" for i in range(4097)), "ok"]),
    ("x", "x", [1.0, None, NAN]),
    ("y", "y", [9.0, 1.0, float("inf")]),
    ("time", "time", [1, None, 2**53 + 1]),
    ("time", "time", pa.array([-(2**62), 1, None], pa.timestamp("s"))),
    ("time", "time", pa.array([2**63, 1, None], pa.uint64())),
    ("id", "id", ["", "ok", "x" * 257]),
]
BAD_SUBSCRIPTIONS = [
    ("id", "id", [None, "", "x" * 257]),
    ("id", "id", ["a", "known", "a"]),
    ("k", "k", [0, None, 1001]),
    ("k", "k", pa.array([2**63, 1, 1], pa.uint64())),
    ("alpha", "alpha", [NAN, 1.5, None]),
    ("text", "text", ["news1", "the", None]),
    ("text", "text", ["news1", " ".join(f"new{i}" for i in range(65)), "news3"]),
]
EXPECTED = {0: [0, 2], 1: [1], 2: [1, 2], 3: [0, 2], 4: [1, 2], 5: [0, 2], 6: [0, 2], 7: [0, 2]}
EXPECTED_SUBSCRIPTIONS = {0: [0, 1, 2], 1: [1, 2], 2: [0, 1, 2], 3: [0], 4: [0, 1, 2], 5: [1, 2], 6: [1]}


@pytest.mark.parametrize("case", EXPECTED)
def test_bad_messages_are_refused_together_or_reported_one_by_one(make, case):
    column, field, values = BAD_MESSAGES[case]
    bad_rows(make, "publish_many", MESSAGES, column, field, values, EXPECTED[case])


@pytest.mark.parametrize("case", EXPECTED_SUBSCRIPTIONS)
def test_bad_subscriptions_are_refused_together_or_reported_one_by_one(make, case):
    column, field, values = BAD_SUBSCRIPTIONS[case]
    bad_rows(make, "subscribe_many", SUBSCRIPTIONS, column, field, values, EXPECTED_SUBSCRIPTIONS[case])


def bad_rows(make, call, columns, column, field, values, bad):
    """Of three rows those in `bad` are bad: all or none first, then the good ones, as if only they had come."""
    engine, other = make(), make()
    for each in (engine, other):
        each.subscribe("known", "ramen soup", at=(1, 1))
    given = table(columns, **{column: values})
    before = state(engine)
    with pytest.raises(InvalidBatch) as caught:
        getattr(engine, call)(given)
    assert [(error.row, error.field) for error in caught.value.rows] == [(row, field) for row in bad]
    assert f"row {bad[0]}, {field}: " in str(caught.value)
    assert state(engine) == before
    rejected = []
    changes = getattr(engine, call)(given, rejected=rejected)
    assert rejected == caught.value.rows
    good = given.take(pa.array([row for row in range(3) if row not in bad], pa.int64()))
    assert changes.equals(getattr(other, call)(good))
    assert answers(engine) == answers(other)


def test_only_a_good_row_takes_its_id(make):
    engine = make()
    rejected = []
    engine.subscribe_many(table(SUBSCRIPTIONS, id=["a", "a", "a"], x=[NAN, 1.0, 2.0]), rejected=rejected)
    assert [(error.row, error.field) for error in rejected] == [(0, "x"), (2, "id")]
    assert engine.subscription("a").x == 1.0


def test_a_row_is_reported_once(make):
    rejected = []
    make().publish_many(table(MESSAGES, text=[None, "a", "b"], x=[NAN, 1.0, 1.0]), rejected=rejected)
    assert [error.row for error in rejected] == [0]


def test_times_within_a_batch_never_run_backwards(make):
    engine = make(within(milliseconds=10))
    engine.subscribe("a", "ramen", at=(1, 1))
    engine.publish_many(table(MESSAGES, text=["ramen"] * 3, time=[100, 95, 109]))
    assert sorted((entry.seq, entry.time) for entry in engine.top("a")) == [(0, 100), (1, 100), (2, 109)]
    engine.publish_many(table(MESSAGES, text=["ramen"] * 3, time=[50, 110, 60]))
    assert sorted(seqs(engine.top("a"))) == [2, 3, 4, 5]
