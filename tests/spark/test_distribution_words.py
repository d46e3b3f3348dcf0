"""KeywordPartition and the loose prefix: the paper's algorithm and definition once more naively, and its example."""

from itertools import pairwise

import numpy as np
import pytest

from nearcast import bounds
from nearcast.spark.distribution import Keyword, MessageBatch, Prefix, SubscriptionBatch, fit, merge, split
from nearcast.spark.distribution.ranges import keyword_partition, words_of
from support.distribution import vectors, world


def sets_of(offsets, terms):
    return [set(terms[a:b].tolist()) for a, b in pairwise(offsets)]


def naive_cost(own, heard, words):
    n, p = (sum(1 for row in some if row & words) for some in (own, heard))
    return n * p, n


def naive_partition(own, heard, low, high, k):
    """Cuts of low .. high by trying every word, C(W) by counting sets."""
    if k < 2 or high - low < 2:
        return []
    k1, k2 = (k + 1) // 2, k // 2
    best = None
    for cut in range(low + 1, high):
        (c1, n1), (c2, n2) = (naive_cost(own, heard, set(range(*ends))) for ends in ((low, cut), (cut, high)))
        key = abs(c1 * k2 - c2 * k1), abs(n1 * k2 - n2 * k1)
        if best is None or key < best[0]:
            best = key, cut
    cut = best[1]
    k1 = min(k1, cut - low)
    k2 = min(k - k1, high - cut)
    k1 = min(k - k2, cut - low)
    return [*naive_partition(own, heard, low, cut, k1), cut, *naive_partition(own, heard, cut, high, k2)]


@pytest.mark.lanes
def test_the_split_is_the_papers(rng):
    for _ in range(40):
        words = int(rng.choice([1, 2, 5, 30]))
        (s_offsets, s_terms, _), (m_offsets, m_terms, _) = (
            vectors(rng, int(rng.integers(1, 30)), words, unseen=unseen) for unseen in (0.0, 0.0)
        )
        own, heard = sets_of(s_offsets, s_terms.astype(int)), sets_of(m_offsets, m_terms.astype(int))
        if not any(own):
            continue
        k = int(rng.integers(1, 18))
        cuts = keyword_partition(
            words_of(s_offsets, s_terms.astype(np.uint32)), words_of(m_offsets, m_terms.astype(np.uint32)), k, words
        )
        assert cuts.tolist() == naive_partition(own, heard, 0, words, k)
        assert len(cuts) == min(k, words) - 1


@pytest.mark.parametrize("kind", [Keyword, Prefix])
def test_costs_count_overlaps(rng, kind):
    """N(W) and p(W) of the fitted ranges, by sets; the prefix mechanism's N sees prefixes only."""
    of = world(rng, 60, 40, words=30)
    mechanism = kind.fit(of.subscriptions, of.messages, 5)
    s, m = of.subscriptions, of.messages
    placed = mechanism.placed(s)
    own = [set(s.terms[a : a + count].tolist()) for a, count in zip(s.offsets, placed, strict=False)]
    heard = sets_of(m.offsets, m.terms)
    ends = [0, *mechanism.cuts.tolist(), 2**32]
    expected = [naive_cost(own, heard, range_of(a, b, own + heard))[0] / 40 for a, b in pairwise(ends)]
    np.testing.assert_allclose(mechanism.costs(s, m), expected)
    assert (np.diff(s.offsets).sum() > placed.sum()) == (kind is Prefix)


def range_of(low, high, rows):
    return {word for row in rows for word in row if low <= word < high}


def test_keyword_costs_balance(rng):
    """A vocabulary as skewed as words are: the costliest of 8 ranges stays near the mean."""

    def zipf(count):
        terms = [np.unique((5000.0 ** rng.random(6)).astype(int) - 1)[::-1] for _ in range(count)]
        offsets = np.cumsum([0, *map(len, terms)])
        return offsets, np.concatenate(terms), np.ones(offsets[-1])

    count = 4000
    own = SubscriptionBatch.of(np.arange(count), np.zeros((count, 2)), np.zeros(count), np.zeros(count), *zipf(count))
    heard = MessageBatch.of(np.zeros((count, 2)), *zipf(count))
    for partitions in (2, 3, 5, 8):
        costs = Keyword.fit(own, heard, partitions).costs(own, heard)
        assert len(costs) == partitions and costs.max() < 1.5 * costs.mean()


def test_a_costly_word_leaves_its_partitions_to_the_others():
    """One word in everything: half of the cost, but it can only be one partition."""
    offsets = np.arange(0, 2 * 90, 2)
    terms = np.stack([np.arange(1, 90), np.zeros(89, int)], 1).ravel()
    own = words_of(offsets, terms.astype(np.uint32)[: offsets[-1]])
    assert len(keyword_partition(own, own, 8, 90)) == 7
    assert keyword_partition(own, own, 8, 90)[0] == 1
    terms = np.stack([np.full(89, 89), np.arange(89)], 1).ravel()
    own = words_of(offsets, terms.astype(np.uint32)[: offsets[-1]])
    assert len(keyword_partition(own, own, 8, 90)) == 7
    assert keyword_partition(own, own, 8, 90)[-1] == 89


def test_unseen_words_have_a_partition(rng):
    of = world(rng, 30, 30, words=5)
    mechanism = Keyword.fit(of.subscriptions, of.messages, 4)
    strange = MessageBatch.of([[0, 0]] * 2, [0, 1, 2], [10**6, 2**32 - 1], [1.0, 1.0])
    assert np.diff(mechanism.route(strange).offsets).tolist() == [1, 1]


def test_the_papers_example():
    """Ten keywords, four bolts: s stands in bolts 1, 2 and 3 by its keywords, by its loose prefix {w1, w2} in bolt 1.

    The message goes to bolts 3 and 4 either way. (The figure's words are not in the source: these are ours.)
    """
    ids = [10 - i for i in range(1, 11)]  # w1 is the rarest
    bolts = {"partitions": 4, "labels": np.array([3, 2, 1, 0], np.int32), "cuts": np.array([3, 6, 8], np.uint32)}
    words = [ids[i - 1] for i in (1, 2, 4, 5)]
    s = SubscriptionBatch.of([7], [[0, 0]], [0.6], [0.8], [0, 4], words, [0.7, 0.63, 0.3, 0.15])
    m = MessageBatch.of([[0, 0]], [0, 2], [ids[5 - 1], ids[9 - 1]], [0.6, 0.8])
    pair = np.zeros(1, np.int64), np.zeros(1, np.int64)
    by_keyword, by_prefix = Keyword(**bolts), Prefix(**bolts, bound="sum")
    assert by_keyword.assign(s).partitions.tolist() == [0, 1, 2]
    assert by_keyword.owners(s, m, *pair).tolist() == [2]
    assert by_prefix.placed(s).tolist() == [2]
    assert by_prefix.assign(s).partitions.tolist() == [0]
    assert by_prefix.owners(s, m, *pair).tolist() == [-1]
    assert by_prefix.home(s).tolist() == [0] and by_keyword.home(s)[0] in (0, 1, 2)
    for mechanism in (by_keyword, by_prefix):
        assert mechanism.route(m).partitions.tolist() == [2, 3]


@pytest.mark.lanes
def test_loose_prefix_by_the_papers_definition(rng):
    """The least p whose later words together bring less than TSimLB; by lengths it is never longer."""
    for _ in range(30):
        of = world(rng, 30, 5, words=30)
        s = of.subscriptions
        by_sum, by_length = (Prefix.fit(s, of.messages, 3, bound=bound) for bound in ("sum", "length"))
        assert (by_length.placed(s) <= by_sum.placed(s)).all()
        for i, placed in enumerate(by_sum.placed(s)):
            weights = s.weights[s.offsets[i] : s.offsets[i + 1]]
            least = bounds.text_threshold(float(s.theta[i]) - bounds.SLACK, float(s.alpha[i]), 1.0)
            assert placed == bounds.location_prefix(weights, least)


@pytest.mark.parametrize("bound", ["sum", "length"])
@pytest.mark.lanes
def test_beyond_the_prefix_nothing_reaches_theta(rng, bound):
    """The worst case itself: at the very place, the message made of the later words alone, theta at its score."""
    shortened = 0
    for _ in range(300):
        _, terms, weights = vectors(rng, 1, 30)
        count = len(terms)
        if count < 2:
            continue
        alpha = np.float32(rng.choice([0.0, 1.0, 1e-7, 1.0 - 2.0**-24, rng.random()]))
        start = int(rng.integers(1, count))
        length = np.linalg.norm(weights[start:])
        text = float(np.sum(weights[start:] * (weights[start:] / length if bound == "length" else 1.0)))
        score = np.float32(float(alpha) + (1.0 - float(alpha)) * text)
        for theta in (score, score + 1e-4):
            s = SubscriptionBatch.of([0], [[0, 0]], [alpha], [theta], [0, count], terms, weights)
            placed = int(Prefix(1, np.zeros(1, np.int32), np.empty(0, np.uint32), bound).placed(s)[0])
            assert theta > score or placed > start
            shortened += placed <= start
    assert shortened > 50


def test_thresholds_at_the_ends(rng):
    """No threshold: all words. Alpha 1: all, as any of them may do. Unreachable: none, and it is still at home."""
    s = world(rng, 40, 5, words=30).subscriptions
    count = np.diff(s.offsets)
    mechanism = Prefix.fit(s, MessageBatch.of(np.empty((0, 2)), [0], [], []), 4)
    assert (mechanism.placed(s._replace(theta=np.zeros(40, np.float32))) == count).all()
    near = s._replace(alpha=np.ones(40, np.float32), theta=np.ones(40, np.float32))
    assert (mechanism.placed(near) == count).all()
    never = s._replace(theta=np.full(40, 9.0, np.float32))
    assert not mechanism.placed(never).any()
    assert mechanism.assign(never).partitions.tolist() == mechanism.home(never).tolist()
    one = never._replace(placed=np.minimum(count, 1).astype(np.int32))
    assert mechanism.home(one).tolist() == mechanism.home(never).tolist()


def test_lazy_reallocation():
    """Words of .8, .5, .3 and .1, alpha 0: a threshold that rises moves nobody, a fall does if it needs more words."""
    mechanism = Prefix(4, np.arange(4, dtype=np.int32), np.array([1, 2, 3], np.uint32), "sum")
    s = SubscriptionBatch.of([0], [[0, 0]], [0.0], [0.6], [0, 4], [3, 2, 1, 0], [0.8, 0.5, 0.3, 0.1])
    placed = mechanism.placed(s)
    assert placed.tolist() == [2]
    steps = {0.95: False, 0.6: False, 0.45: False, 0.39: True, 0.05: True}
    for theta, moves in steps.items():
        now = s._replace(theta=np.array([theta], np.float32), placed=placed)
        assert mechanism.needs_move(now).tolist() == [moves]
    assert mechanism.prefixes(s._replace(theta=np.array([0.39], np.float32))).tolist() == [3]


def test_a_range_is_cut_as_the_algorithm_would(rng):
    """Two ranges, each cut once more: the same four as at once; one word cannot be cut, nor what nobody has."""
    of = world(rng, 200, 200, words=30)
    s, m = of.subscriptions, of.messages
    two, four = (Keyword.fit(s, m, partitions) for partitions in (2, 4))
    assert split(split(two, 0, s, m), 1, s, m).cuts.tolist() == four.cuts.tolist()
    one = Keyword(3, np.arange(3, dtype=np.int32), np.array([4, 5], np.uint32))
    assert split(one, 1, s, m) is one
    last = Keyword(2, np.arange(2, dtype=np.int32), np.array([2**32 - 1], np.uint32))
    assert split(last, 1, s, m) is last
    assert merge(four, 2, 0).labels.tolist() == [2, 1, 2, 3]


def test_the_prefix_saves_copies(rng):
    of = world(rng, 60, 40, words=30)
    copies = [len(fit(name, *of[1:3], 8).assign(of.subscriptions).partitions) for name in ("prefix", "keyword")]
    assert copies[0] < copies[1]
