"""DESIGN.md §1, score and order: who matches, who comes first, and that ties are broken by age."""

import numpy as np
import pytest

from nearcast.model import last, within
from nearcast.space import plane
from support.state import pairs, seqs

pytestmark = pytest.mark.lanes

RAMEN = {"ramen": 1.0}  # one keyword with its own weight: weight 1, so scores can be told by hand


def test_the_score_blends_nearness_and_text(make):
    engine = make()
    engine.subscribe("a", RAMEN, at=(0, 0), alpha=0.25)
    engine.publish(RAMEN, at=(3, 4))  # at MaxDist: SSim 0
    engine.publish(RAMEN, at=(3, 0))  # SSim 2/5
    engine.publish({"ramen": 3.0, "soup": 4.0}, at=(0, 0))  # TSim 3/5
    expected = {1: 0.25 * (1 - 3 / 5) + 0.75, 0: 0.75, 2: 0.25 + 0.75 * np.float32(0.6)}
    assert [seq for seq, _ in pairs(engine.top("a"))] == [1, 0, 2]
    for seq, score in pairs(engine.top("a")):
        assert score == pytest.approx(expected[seq], rel=1e-6)
        assert score == float(np.float32(score))


def test_of_equal_scores_the_newer_message_comes_first(make):
    engine = make()
    engine.subscribe("a", RAMEN, at=(0, 0), k=2)
    for _ in range(3):
        engine.publish(RAMEN, at=(1, 1))
    assert seqs(engine.top("a")) == [2, 1]


def test_alpha_1_ranks_by_distance_among_the_matching(make):
    engine = make()
    engine.subscribe("a", "ramen", at=(0, 0), alpha=1, k=2)
    for text, at in (("ramen", (3, 4)), ("ramen bowl bowl soup", (1, 0)), ("bowl", (0, 0)), ("ramen", (2, 0))):
        engine.publish(text, at=at)
    assert seqs(engine.top("a")) == [1, 3]
    assert engine.top("a")[0].score == float(np.float32(0.8))


def test_alpha_0_ranks_by_words_alone(make):
    engine = make()
    engine.subscribe("a", RAMEN, at=(0, 0), alpha=0, k=3)
    engine.publish({"ramen": 1, "soup": 1}, at=(0, 0))
    engine.publish(RAMEN, at=(3, 4))
    assert seqs(engine.top("a")) == [1, 0]
    assert engine.top("a")[0].score == 1.0


def test_a_score_of_0_is_still_a_match(make):
    engine = make()
    engine.subscribe("a", RAMEN, at=(0, 0), alpha=1)
    engine.publish(RAMEN, at=(3, 4))
    assert pairs(engine.top("a")) == [(0, 0.0)]


def test_without_a_common_word_there_is_no_match_however_near(make):
    engine = make()
    engine.subscribe("a", "ramen", at=(1, 1), alpha=1)
    assert engine.publish("sushi", at=(1, 1)) == []
    assert engine.top("a") == []


def test_a_message_without_usable_words_takes_a_place_in_the_window(make):
    engine = make(last(2))
    engine.subscribe("a", "ramen", at=(1, 1))
    engine.publish("ramen", at=(1, 1))
    for text in ("", "the of ...", {}):
        engine.publish(text, at=(1, 1))
    assert engine.top("a") == []
    assert (engine.newest_seq, engine.window_size) == (3, 2)


def test_fewer_than_k_matches_are_all_listed(make):
    engine = make(last(3))
    engine.subscribe("a", "ramen", at=(0, 0), k=1000)
    for i in range(5):
        engine.publish("ramen", at=(0.1 * i, 0))
    assert seqs(engine.top("a")) == [2, 3, 4]


def test_k_1(make):
    engine = make(last(3))
    engine.subscribe("a", "ramen", at=(0, 0), k=1)
    tops = []
    for x in (0.1, 0.2, 0.3, 0.4):
        engine.publish("ramen", at=(x, 0))
        tops.append(seqs(engine.top("a")))
    assert tops == [[0], [0], [0], [1]]


def test_words_are_weighted_with_the_counts_before_the_message(make):
    engine = make()
    engine.subscribe("a", "common", at=(0, 0), alpha=0)
    engine.publish("common rare", at=(0, 0))  # both unseen: equal weights
    engine.publish("common rare2", at=(0, 0))  # common has been seen once now
    first, second = sorted(engine.top("a"), key=lambda entry: entry.seq)
    assert first.score == pytest.approx(np.sqrt(0.5), rel=1e-6)
    rare, common = np.log(1 + 2 / 1), np.log(1 + 2 / 2)
    assert second.score == pytest.approx(common / np.hypot(rare, common), rel=1e-6)


@pytest.mark.parametrize("window", [last(50), within(milliseconds=50)], ids=str)
def test_many_equal_scores_around_the_end_of_the_list(make, window):
    engine = make(window, plane(0, 0, 1, 1))
    engine.subscribe("a", RAMEN, at=(0, 0), k=5)
    for i in range(120):
        engine.publish(RAMEN, at=(0, 0), time=i)
        assert seqs(engine.top("a")) == list(range(i, max(-1, i - 5), -1))
