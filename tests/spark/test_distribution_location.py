"""SpatialPartition: the paper's algorithm, once more naively; and what it is for: equal costs."""

import numpy as np
import pytest

from nearcast.space import plane
from nearcast.spark.distribution import Location, MessageBatch, SubscriptionBatch, fit, split
from nearcast.spark.distribution.kdtree import spatial_partition
from support.distribution import check_promise, places, vectors, world


def naive_partition(own, heard, k, depth=0):
    """The leaves as lists of subscriptions' places, lower and left ones first."""
    best = None
    k1, k2 = (k + 1) // 2, k // 2
    for axis in (depth % 2, (depth + 1) % 2) if k > 1 else ():
        for value in sorted({place[axis] for place in own}):
            sides = [[p for p in some if (p[axis] <= value) == low] for low in (True, False) for some in (own, heard)]
            n1, p1, n2, p2 = map(len, sides)
            key = abs(n1 * p1 * k2 * k2 - n2 * p2 * k1 * k1), abs(n1 * k2 - n2 * k1)
            if n2 and (best is None or key < best[0]):
                best = key, sides
        if best:
            break
    if best is None:
        return [own]
    left, left_heard, right, right_heard = best[1]
    k1 = min(k1, len(set(left)))
    k2 = min(k - k1, len(set(right)))
    k1 = min(k - k2, len(set(left)))
    return naive_partition(left, left_heard, k1, depth + 1) + naive_partition(right, right_heard, k2, depth + 1)


def leaves_of(tree, own):
    leaf = tree.leaf(own)
    return [sorted(map(tuple, own[leaf == i].tolist())) for i in range(tree.leaves)]


@pytest.mark.lanes
def test_the_tree_is_the_papers(rng):
    for _ in range(40):
        n, m = int(rng.integers(1, 60)), int(rng.choice([0, 5, 60]))
        grid = rng.choice([3, 10, 10**6])
        own, heard = (rng.integers(grid, size=(count, 2)).astype(float) for count in (n, m))
        k = int(rng.integers(1, 18))
        naive = naive_partition(*([tuple(p) for p in some.tolist()] for some in (own, heard)), k)
        assert leaves_of(spatial_partition(own, heard, k), own) == [sorted(leaf) for leaf in naive]
        assert len(naive) == min(k, len(np.unique(own, axis=0)))


@pytest.mark.parametrize("partitions", [2, 3, 5, 8, 12, 16, 17])
def test_costs_balance(rng, partitions):
    """Clusters of different sizes, messages elsewhere than subscriptions: no leaf costs much more than the mean."""
    centres = rng.random((10, 2))
    own = centres[np.minimum(rng.integers(10, size=20_000), rng.integers(10, size=20_000))]
    own = own + rng.normal(0, 0.05, own.shape)
    heard = np.vstack([own[::4] + 0.02, rng.random((20_000, 2))])
    tree = spatial_partition(own, heard, partitions)
    costs = np.bincount(tree.leaf(own)) * np.bincount(tree.leaf(heard), minlength=partitions)
    assert tree.leaves == partitions
    assert costs.max() < 1.5 * costs.mean()


def test_x_and_y_take_turns():
    corners = np.array([[0.0, 0.0], [0.0, 9.0], [1.0, 0.0], [1.0, 9.0]])
    tree = spatial_partition(corners, corners, 4)
    assert tree.axis.tolist() == [0, 1, 1] and tree.at.tolist() == [0.0, 0.0, 0.0]
    assert tree.leaf(corners).tolist() == [0, 1, 2, 3]
    assert [tree.depth(leaf) for leaf in range(4)] == [2] * 4


def test_one_point_cannot_be_cut(rng):
    """Its partitions go to its sibling; alone it stays whole; a hot partition that is one point is left as it is."""
    own = np.array([[5.0, 5.0]] * 50 + [[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]])
    assert spatial_partition(own, own, 4).leaves == 4
    assert spatial_partition(own[:50], own[:50], 4).leaves == 1
    numbers = np.arange(50)
    s = SubscriptionBatch.of(numbers, own[:50], numbers * 0.01, numbers * 0.0, *vectors(rng, 50, 5))
    m = MessageBatch.of(own[:50], *vectors(rng, 50, 5))
    mechanism = Location.fit(s, m, 4)
    assert mechanism.live.tolist() == [0] and mechanism.partitions == 4
    assert split(mechanism, 0, s, m) is mechanism


def test_a_leaf_is_cut_as_the_algorithm_would(rng):
    """Two leaves, each cut once more: the same four as at once."""
    own, heard = (rng.random((count, 2)) for count in (200, 300))
    tree = spatial_partition(own, heard, 2)
    for leaf in (0, 1):
        tree = tree.cut(leaf, own[tree.leaf(own) == leaf], heard[tree.leaf(heard) == leaf])
    assert sorted(leaves_of(tree, own)) == sorted(leaves_of(spatial_partition(own, heard, 4), own))


def test_subscriptions_stay_where_their_place_is(rng):
    """Hashing and location never store one twice, and every message goes to all that are in use."""
    of = world(rng, 40, 40)
    for name in ("hashing", "location"):
        mechanism = fit(name, of.subscriptions, of.messages, 6)
        assert mechanism.assign(of.subscriptions).offsets.tolist() == list(range(41))
        assert mechanism.route(of.messages).partitions.tolist() == mechanism.live.tolist() * 40
        check_promise(mechanism, of)


def test_without_one_sample_the_other_serves(rng):
    of = places(rng, plane(0, 0, 1, 1), 100)
    none = np.empty((0, 2))
    assert leaves_of(spatial_partition(of, none, 4), of) == leaves_of(spatial_partition(of, of, 4), of)
    assert leaves_of(spatial_partition(none, of, 4), of) == leaves_of(spatial_partition(of, of, 4), of)
    assert spatial_partition(none, none, 4).leaves == 1
