"""Hashing's table, merged partitions taken apart, what loads advise."""

import numpy as np

from nearcast.spark.distribution import (
    Advice,
    Hashing,
    Hybrid,
    Prefix,
    SubscriptionBatch,
    advise,
    fit,
    merge,
    moves,
    split,
)
from nearcast.spark.distribution.balance import lighter_share
from nearcast.spark.distribution.routes import drawn, everywhere
from support.distribution import rows, world


def test_hashing_is_the_papers_function(rng):
    of = world(rng, 40, 5)
    s = of.subscriptions
    assert Hashing.fit(s, of.messages, 7).home(s).tolist() == (s.numbers % 7).tolist()


def test_hashing_splits_one_partition_in_halves(rng):
    """Nobody else moves, and after the merge of both halves everything is as before."""
    of = world(rng, 0, 5)
    numbers = np.arange(6000)
    s = SubscriptionBatch.of(numbers, np.zeros((6000, 2)), *np.zeros((2, 6000)), np.zeros(6001), [], [])
    three = Hashing.fit(s, of.messages, 3)
    four = split(three, 1, s, of.messages)
    assert np.bincount(four.home(s)).tolist() == [2000, 1000, 2000, 1000]
    moved = moves(three, four, s)
    upper = numbers[numbers % 6 == 4].tolist()
    assert moved.arriving.sources().tolist() == moved.leaving.sources().tolist() == upper
    assert np.flatnonzero(moved.rehomed).tolist() == upper
    assert set(moved.arriving.partitions.tolist()) == {3} and set(moved.leaving.partitions.tolist()) == {1}
    again = merge(four, 1, 3)
    assert again.home(s).tolist() == three.home(s).tolist() and again.live.tolist() == [0, 1, 2]
    assert len(split(again, 1, s, of.messages).labels) == len(again.labels)  # it is taken apart where it was joined


def test_a_merged_partition_is_taken_apart_by_cost(rng):
    """Of four leaves in one partition the costliest stand against the others."""
    of = world(rng, 400, 50, words=30)
    s, m = of.subscriptions, of.messages
    mechanism = fit("location", s, m, 8)
    for other in (1, 2, 3):
        mechanism = merge(mechanism, 0, other)
    halved = split(mechanism, 0, s, m)
    costs = halved.costs(s, m)
    assert set(halved.labels.tolist()) == {0, 1, 4, 5, 6, 7}
    assert abs(costs[halved.labels == 0].sum() - costs[halved.labels == 1].sum()) <= costs.max()


def test_shares_are_even_by_cost():
    """Down the costs, each to the lighter side; at no cost at all by number. Never all to one."""
    assert lighter_share(np.array([5.0, 1, 2, 2, 9])).tolist() == [True, False, True, True, False]
    assert lighter_share(np.zeros(5)).tolist() == [False, True, False, True, False]
    assert lighter_share(np.array([0.0, 7])).tolist() == [True, False]


def test_hybrids_cost_what_their_second_level_costs_of_all_messages(rng):
    """N of the cell, times the share that falls into it of all messages: not only of those that its part hears."""
    of = world(rng, 60, 50, words=30)
    m = of.messages
    s = of.subscriptions.take(np.flatnonzero(Prefix.fit(*of[1:3], 1).placed(of.subscriptions)))
    by_words = Hybrid.spatial_first(s, m, 6)
    held, heard = (np.bincount(routes.partitions, minlength=6) for routes in (by_words.assign(s), by_words.route(m)))
    np.testing.assert_allclose(by_words.costs(s, m), (held * heard / 50)[by_words.labels])
    by_place = Hybrid.keyword_first(s, m, 6)
    own, others = rows(by_place.outer.assign(s)), rows(by_place.outer.route(m))
    expected = []
    for part, tree in enumerate(inner.tree for inner in by_place.inner):
        mine = tree.leaf(s.places[[part in row for row in own]])
        theirs = tree.leaf(m.places[[part in row for row in others]])
        expected += [np.sum(mine == leaf) * np.sum(theirs == leaf) / 50 for leaf in range(tree.leaves)]
    np.testing.assert_allclose(by_place.costs(s, m), expected)


def test_advice():
    """Numbers that are not in use do not count; two are never merged if there are only two."""
    live = np.array([0, 2, 3, 4, 5], np.int32)
    assert advise(np.array([5.0, 99, 5, 5, 5, 5]), live) == Advice(None, None)
    assert advise(np.array([7.0, 99, 5, 5, 5, 5]), live) == Advice(None, None)
    assert advise(np.array([9.0, 99, 1, 5, 2, 6]), live) == Advice(0, (2, 4))
    assert advise(np.array([9.0, 99, 4, 5, 4, 4]), live) == Advice(0, None)
    assert advise(np.array([1.0, 9.0]), np.array([0, 1], np.int32), idle=4.0) == Advice(1, None)
    assert advise(np.array([0.0]), np.array([0], np.int32)) == Advice(None, None)


def test_homes_are_drawn_evenly(rng):
    """Whatever the numbers look like; a partition that joins takes its share and leaves the others' alone."""
    for numbers in (np.arange(30_000), np.arange(30_000) * 1024, rng.integers(2**62, size=30_000)):
        for goals in ([0, 1, 2], [3, 17, 31], [5, 6]):
            more = [*goals, 9]
            few, many = (drawn(numbers, everywhere(30_000, np.array(some, np.int32))) for some in (goals, more))
            for chosen, some in ((few, goals), (many, more)):
                shares = np.array([np.mean(chosen == goal) for goal in some])
                assert abs(shares * len(some) - 1).max() < 0.05
            assert set(many[few != many].tolist()) == {9}
