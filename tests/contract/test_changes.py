"""Change events: net, in the promised order, with exact ranks and causes; replaying them rebuilds every list."""

import random

import pytest

from nearcast.changes import replay
from nearcast.model import Change, last, within
from support.state import pairs

pytestmark = pytest.mark.lanes

RAMEN = {"ramen": 1}


def short(changes):
    return [(c.seq, c.subscription, c.kind, c.message, c.rank, c.cause) for c in changes]


def test_arrived_displaced_expired_refilled(make):
    engine = make(last(3))
    assert engine.subscribe("a", RAMEN, at=(0, 0), k=2) == []
    steps = [engine.publish(RAMEN, at=(x, 0)) for x in (1, 0, 2, 0.5, 3)]
    assert short(steps[0]) == [(0, "a", "entered", 0, 1, "arrived")]
    assert short(steps[1]) == [(1, "a", "entered", 1, 1, "arrived")]
    assert steps[2] == []
    assert short(steps[3]) == [(3, "a", "left", 0, 2, "expired"), (3, "a", "entered", 3, 2, "arrived")]
    assert short(steps[4]) == [(4, "a", "left", 1, 1, "expired"), (4, "a", "entered", 2, 2, "refilled")]
    better = engine.publish(RAMEN, at=(0, 0))
    assert short(better) == [(5, "a", "left", 2, 2, "expired"), (5, "a", "entered", 5, 1, "arrived")]
    displaced = engine.publish(RAMEN, at=(0, 0))
    assert short(displaced) == [(6, "a", "left", 3, 2, "expired"), (6, "a", "entered", 6, 1, "arrived")]
    displaced = engine.publish(RAMEN, at=(0, 0))
    assert short(displaced) == [(7, "a", "left", 5, 2, "displaced"), (7, "a", "entered", 7, 1, "arrived")]


def test_the_score_is_that_of_the_list(make):
    engine = make()
    engine.subscribe("a", RAMEN, at=(0, 0))
    (change,) = engine.publish(RAMEN, at=(3, 0))
    assert change == Change(0, "a", "entered", 0, 1, engine.top("a")[0].score, "arrived")
    assert [type(value) for value in change] == [int, str, str, int, int, float, str]


def test_a_new_subscription_gets_its_list_as_changes(make):
    engine = make()
    for x in (2, 1, 3):
        engine.publish(RAMEN, at=(x, 0))
    changes = engine.subscribe("a", RAMEN, at=(0, 0), k=2)
    assert short(changes) == [(2, "a", "entered", 1, 1, "registered"), (2, "a", "entered", 0, 2, "registered")]


def test_the_newest_message_enters_a_new_list_as_registered(make):
    engine = make()
    engine.publish(RAMEN, at=(0, 0))
    assert short(engine.subscribe("a", RAMEN, at=(0, 0))) == [(0, "a", "entered", 0, 1, "registered")]


def test_what_an_unsubscribed_list_held_leaves(make):
    engine = make()
    engine.subscribe("a", RAMEN, at=(0, 0), k=2)
    for x in (2, 1, 3):
        engine.publish(RAMEN, at=(x, 0))
    changes = engine.unsubscribe("a")
    assert short(changes) == [(2, "a", "left", 1, 1, "unsubscribed"), (2, "a", "left", 0, 2, "unsubscribed")]
    assert engine.publish(RAMEN, at=(0, 0)) == []


def test_before_the_first_message_seq_is_minus_1(make):
    engine = make(within(milliseconds=5))
    assert engine.subscribe("a", RAMEN, at=(0, 0)) == []
    assert engine.unsubscribe("a") == []
    assert engine.newest_seq == -1


def test_an_older_message_moving_up_on_advance_is_refilled_even_if_it_is_the_newest(make):
    engine = make(within(milliseconds=10))
    engine.subscribe("a", RAMEN, at=(0, 0), k=1)
    engine.publish(RAMEN, at=(0, 0), time=0)
    engine.publish(RAMEN, at=(3, 0), time=5)
    changes = engine.advance(10)
    assert short(changes) == [(1, "a", "left", 0, 1, "expired"), (1, "a", "entered", 1, 1, "refilled")]


def test_changes_come_by_registration_then_left_then_entered(make):
    engine = make(within(milliseconds=10))
    for id in ("z", "a", "gone", "m"):
        engine.subscribe(id, RAMEN, at=(0, 0), k=2)
    engine.unsubscribe("gone")
    engine.subscribe("b", RAMEN, at=(0, 0), k=2)  # may reuse what "gone" left behind, but comes last
    for x in (1, 2, 3):
        engine.publish(RAMEN, at=(x, 0), time=0)
    engine.publish(RAMEN, at=(2.5, 0), time=5)
    changes = engine.advance(10)
    assert [change.subscription for change in changes[::3]] == ["z", "a", "m", "b"]
    for i in range(0, len(changes), 3):
        found = [(c.kind, c.message, c.rank, c.cause) for c in changes[i : i + 3]]
        assert found == [("left", 0, 1, "expired"), ("left", 1, 2, "expired"), ("entered", 3, 1, "refilled")]


def test_what_enters_and_leaves_at_once_is_not_reported(make):
    engine = make(within(milliseconds=10))
    engine.subscribe("a", RAMEN, at=(0, 0), k=1)
    engine.publish(RAMEN, at=(0, 0), time=0)
    engine.publish(RAMEN, at=(2, 0), time=1)
    changes = engine.publish(RAMEN, at=(1, 0), time=10)  # 0 expires, 1 would move up, 2 beats it
    assert short(changes) == [(2, "a", "left", 0, 1, "expired"), (2, "a", "entered", 2, 1, "arrived")]


def test_replaying_all_changes_rebuilds_every_list(make, seed):
    rng = random.Random(seed)
    for window in (last(7), within(milliseconds=12)):
        engine = make(window)
        lists = {}
        for time in range(150):
            if time % 5 == 0:
                words = rng.choice(("ramen", "ramen soup", "soup"))
                replay(lists, engine.subscribe(f"s{time}", words, at=(rng.random(), 1), k=rng.randint(1, 4)))
            if time % 11 == 10:
                replay(lists, engine.unsubscribe(rng.choice(list(engine))))
            text = rng.choice(("ramen", "soup", "ramen soup", "tea"))
            replay(lists, engine.publish(text, at=(rng.random(), rng.random()), time=time))
            assert {id: pairs(engine.top(id)) for id in engine if engine.top(id)} == lists
