"""What can be read: lists with their messages, explanations, statistics, what is registered."""

import numpy as np
import pytest

from nearcast.model import Ranked, last, within
from nearcast.space import earth
from support.state import seqs

RAMEN = {"ramen": 1}


def test_top_gives_the_message_as_it_was_published(make):
    engine = make()
    engine.subscribe("a", RAMEN, at=(0, 0), alpha=0)
    payload = {"any": ["thing"]}
    engine.publish(RAMEN, at=(1, 2), time=7, id="m", payload=payload)
    engine.publish(RAMEN, at=(3, 4), time=8)
    assert engine.top("a") == [Ranked(1, None, 1.0, 8, 3.0, 4.0, None), Ranked(0, "m", 1.0, 7, 1.0, 2.0, payload)]
    assert engine.top("a")[1].payload is payload


def test_what_is_registered(make):
    engine = make()
    engine.subscribe("a", {"ramen": 3, "soup": 4}, at=(1, 2), k=7, alpha=0.1)
    engine.subscribe("b", "ramen", at=(1, 2))
    a = engine.subscription("a")
    assert (a.id, a.x, a.y, a.k, a.alpha) == ("a", 1.0, 2.0, 7, float(np.float32(0.1)))
    assert a.words == pytest.approx({"ramen": 0.6, "soup": 0.8}, abs=1e-7)
    assert (engine.subscription("b").k, engine.subscription("b").alpha) == (20, 0.5)


def test_ids_come_in_order_of_registration(make):
    engine = make()
    for id in ("z", "y", "a", "m"):
        engine.subscribe(id, "ramen", at=(0, 0))
    engine.unsubscribe("y")
    engine.subscribe("y", "ramen", at=(0, 0))
    assert list(engine) == ["z", "a", "m", "y"]
    assert ("a" in engine, "b" in engine, engine.subscriptions) == (True, False, 4)


def test_statistics(make):
    engine = make(within(milliseconds=10))
    empty = engine.stats()
    assert (empty.subscriptions, empty.window_size, empty.oldest_seq, empty.newest_seq, empty.time) == (
        0,
        0,
        0,
        -1,
        None,
    )
    engine.subscribe("a", "ramen soup", at=(0, 0))
    for time in (0, 5, 12):
        engine.publish("ramen tea", at=(0, 0), time=time)
    stats = engine.stats()
    assert (stats.subscriptions, stats.window_size, stats.oldest_seq, stats.newest_seq) == (1, 2, 1, 2)
    assert (stats.time, stats.vocabulary) == (12, 3)
    assert all(isinstance(value, int | float) for value in stats.counters.values())


def test_an_explanation_takes_the_score_apart(make):
    engine = make()
    engine.subscribe("a", {"ramen": 3, "soup": 4}, at=(0, 0), alpha=0.25)
    engine.publish({"soup": 0.8, "ramen": 0.6, "tea": 1e-9}, at=(3, 0))
    why = engine.explain("a", 0)
    assert (why.subscription, why.message, why.alpha, why.distance) == ("a", 0, 0.25, 3.0)
    assert (why.ssim, why.tsim) == pytest.approx((0.4, 1.0), abs=1e-6)
    assert [word.word for word in why.words] == ["soup", "ramen"]
    for word in why.words:
        assert word.product == word.subscription_weight * word.message_weight
    assert sum(word.product for word in why.words) == why.tsim
    assert why.score == engine.top("a")[0].score == float(np.float32(0.25 * why.ssim + 0.75 * why.tsim))
    assert (why.rank, why.in_top) == (1, True)
    assert "rank 1 of 1" in why.outcome


def test_explanations_of_what_is_not_in_the_list(make):
    engine = make()
    engine.subscribe("a", RAMEN, at=(0, 0), k=1)
    engine.publish(RAMEN, at=(0, 0))
    engine.publish(RAMEN, at=(3, 4))
    engine.publish("tea", at=(0, 0))
    beaten, other = engine.explain("a", 1), engine.explain("a", 2)
    assert (beaten.score, beaten.rank, beaten.in_top) == (0.5, None, False)
    assert beaten.outcome.startswith("matches, but 1 live messages score higher")
    assert (other.score, other.tsim, other.words, other.ssim) == (None, 0.0, (), 1.0)
    assert "no common keyword" in other.outcome


def test_every_live_message_can_be_explained_and_agrees_with_the_list(make, rng):
    engine = make(last(30), earth(max_km=100))
    engine.subscribe("a", "ramen soup tea", at=(179.9, 0), k=5, alpha=0.3)
    words = ["ramen", "soup", "tea", "news"]
    for _ in range(50):
        text = " ".join(rng.choice(words, size=rng.integers(0, 4)))
        engine.publish(text, at=(rng.choice([179.95, -179.95]), rng.uniform(-0.2, 0.2)))
    live = [engine.explain("a", seq) for seq in range(20, 50)]
    ranked = sorted((why for why in live if why.score is not None), key=lambda why: (-why.score, -why.message))[:5]
    assert [(why.message, why.score) for why in ranked] == [(top.seq, top.score) for top in engine.top("a")]
    assert [why.rank for why in ranked] == [1, 2, 3, 4, 5]
    assert sum(why.in_top for why in live) == 5
    assert all(why.threshold <= ranked[-1].score for why in live)


def test_the_antimeridian_and_the_poles_are_near_themselves(make):
    engine = make(last(10), earth(max_km=50))
    engine.subscribe("line", RAMEN, at=(180, 0), alpha=1)
    engine.subscribe("pole", RAMEN, at=(0, 90), alpha=1)
    for at in ((-180, 0), (-179.9, 0), (179.9, 0), (120, 90), (-77, 89.9), (0, 0)):
        engine.publish(RAMEN, at=at)
    assert [entry.score for entry in engine.top("line")][:1] == [1.0]
    assert seqs(engine.top("line"))[:3] == [0, 2, 1]
    assert engine.top("line")[1].score == engine.top("line")[2].score == pytest.approx(1 - 11.1195 / 50, abs=1e-5)
    assert seqs(engine.top("pole"))[:2] == [3, 4]
    assert engine.top("pole")[0].score == pytest.approx(1.0, abs=1e-6)
    assert {entry.score for entry in engine.top("pole")[2:]} == {0.0}
    assert len(engine.top("pole")) == 6
