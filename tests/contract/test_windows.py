"""DESIGN.md §1, windows: what is live, and that time never runs backwards."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from nearcast.intake import MAX_TIME
from nearcast.model import last, within
from support.state import seqs

pytestmark = pytest.mark.lanes


def listening(make, window):
    engine = make(window)
    engine.subscribe("a", "ramen", at=(1, 1))
    return engine


def publish(engine, *times):
    for time in times:
        engine.publish("ramen", at=(1, 1), time=time)
    return sorted(seqs(engine.top("a")))


def test_last_keeps_the_newest_messages(make):
    engine = listening(make, last(2))
    assert publish(engine, 0, 0, 0) == [1, 2]
    assert (engine.window_size, engine.newest_seq) == (2, 2)


def test_last_of_one(make):
    engine = listening(make, last(1))
    assert [publish(engine, 0) for _ in range(3)] == [[0], [1], [2]]


def test_within_a_message_is_live_while_its_time_is_after_now_minus_the_duration(make):
    engine = listening(make, within(milliseconds=10))
    assert publish(engine, 100, 105, 109) == [0, 1, 2]
    assert publish(engine, 110) == [1, 2, 3]
    assert engine.window_size == 3


def test_a_burst_at_one_time_expires_together(make):
    engine = listening(make, within(milliseconds=1))
    assert publish(engine, 5, 5, 5) == [0, 1, 2]
    assert publish(engine, 6) == [3]


def test_a_late_message_is_taken_at_the_time_of_the_newest(make):
    engine = listening(make, within(milliseconds=10))
    assert publish(engine, 100, 50) == [0, 1]
    assert [entry.time for entry in engine.top("a")] == [100, 100]
    assert publish(engine, 110) == [2]


def test_advance_expires_without_an_arrival(make):
    engine = listening(make, within(milliseconds=10))
    publish(engine, 100, 105)
    changes = engine.advance(110)
    assert [(change.seq, change.kind, change.message, change.cause) for change in changes] == [
        (1, "left", 0, "expired")
    ]
    assert engine.advance(114) == []
    assert [change.message for change in engine.advance(10_000)] == [1]
    assert (engine.top("a"), engine.window_size, engine.newest_seq) == ([], 0, 1)


def test_advance_to_the_past_changes_nothing(make):
    engine = listening(make, within(milliseconds=10))
    publish(engine, 100)
    assert engine.advance(-5) == []
    assert engine.time == 100


def test_a_message_after_advance_is_not_older_than_it(make):
    engine = listening(make, within(milliseconds=10))
    engine.advance(100)
    assert publish(engine, 3) == [0]
    assert engine.top("a")[0].time == 100


def test_advance_expires_nothing_of_a_counted_window(make):
    engine = listening(make, last(2))
    publish(engine, 1, 2)
    assert engine.advance(10**12) == []
    assert publish(engine, 3) == [1, 2]


def test_advance_before_any_message(make):
    engine = listening(make, within(milliseconds=10))
    assert engine.advance(0) == []
    assert (engine.newest_seq, engine.time) == (-1, 0)


@pytest.mark.parametrize("time", [-MAX_TIME, MAX_TIME])
def test_the_ends_of_time(make, time):
    engine = listening(make, within(milliseconds=(1 << 53) - 1))
    assert publish(engine, time, time) == [0, 1]


def test_negative_times(make):
    engine = listening(make, within(milliseconds=10))
    assert publish(engine, -100, -95, -90) == [1, 2]


def test_without_a_time_it_is_now(make):
    engine = listening(make, within(hours=1))
    before = datetime.now(UTC)
    publish(engine, None)
    shown = datetime.fromtimestamp(engine.top("a")[0].time / 1000, UTC)
    assert before - timedelta(milliseconds=1) <= shown <= datetime.now(UTC)
    assert engine.advance() == []


def test_datetimes_are_taken_without_a_zone_as_utc(make):
    engine = listening(make, within(hours=1))
    east = timezone(timedelta(hours=2))
    publish(engine, datetime(1970, 1, 1, 0, 0, 1), datetime(1970, 1, 1, 2, 0, 2, 1999, east))
    assert [entry.time for entry in engine.top("a")] == [2001, 1000]


def test_the_window_is_there_before_the_subscription(make):
    engine = make(last(3))
    for x in range(4):
        engine.publish("ramen", at=(x / 2, 0))
    engine.subscribe("a", "ramen", at=(0, 0), k=2)
    assert seqs(engine.top("a")) == [1, 2]
