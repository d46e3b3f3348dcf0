"""Who reaches whom (ours): nothing that counts is kept back, and far partitions are spared."""

import numpy as np
import pytest

from nearcast.errors import InvalidInput
from nearcast.space import earth, plane
from nearcast.spark.distribution import MessageBatch, Reach, SubscriptionBatch, communication_cost, fit
from support.distribution import SETTINGS, fitted, rows, world


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)
@pytest.mark.lanes
def test_thinned_routes_miss_nobody(rng, name, settings):
    """Thresholds stand at the very scores; buckets so few that words must share them."""
    saved = 0
    for _ in range(30):
        of = world(rng, 20, 20)
        mechanism = fitted(rng, name, settings, of, int(rng.integers(1, 10)))
        s = of.subscriptions
        assigned = mechanism.assign(s)
        empty = Reach.empty(of.space, mechanism.partitions, int(rng.choice([2, 16, 1024])))
        reach = empty.including(s, assigned)
        routed = mechanism.route(of.messages)
        thinned = reach.thin(of.messages, routed)
        sent = rows(thinned)
        assert all(few <= many for few, many in zip(sent, rows(routed), strict=True))
        affecting = of.affecting()
        for j, owner in zip(affecting[1], mechanism.owners(s, of.messages, *affecting), strict=True):
            assert owner in sent[j]
        saved += len(routed.partitions) - len(thinned.partitions)
        assert not len(empty.thin(of.messages, routed).partitions)
        parts = np.flatnonzero(np.arange(s.rows) < 7), np.flatnonzero(np.arange(s.rows) >= 7)
        one, other = (empty.including(s.take(part), assigned.take(part)) for part in parts)
        for same in (one.joined(other), one.including(s.take(parts[1]), assigned.take(parts[1]))):
            np.testing.assert_array_equal(same.boxes, reach.boxes)
            np.testing.assert_array_equal(same.words, reach.words)
    assert saved > 0


@pytest.mark.parametrize("space", [plane(0, 0, 100, 100), earth(max_km=3000)], ids=["plane", "earth"])
def test_far_partitions_are_spared(space):
    """Two towns; high thresholds; a message goes only to its own, unless someone far does not care where it is."""
    s = SubscriptionBatch.of([0, 1], [[5, 5], [80, 80]], [0.5, 0.5], [0.8, 0.8], [0, 1, 2], [3, 3], [1, 1])
    m = MessageBatch.of([[6, 5], [80, 79], [6, 5]], [0, 1, 2, 3], [3, 3, 4], [1, 1, 1])
    mechanism = fit("location", s, m, 2)
    assigned, routed = mechanism.assign(s), mechanism.route(m)
    near = Reach.empty(space, 2).including(s, assigned).thin(m, routed)
    assert rows(near) == [{0}, {1}, set()]
    assert communication_cost(near) == 2 / 3
    anywhere = s._replace(alpha=np.array([0.5, 0.1], np.float32))
    assert rows(Reach.empty(space, 2).including(anywhere, assigned).thin(m, routed)) == [{0, 1}, {1}, set()]
    rare = (
        s._replace(terms=np.array([40_000, 50_000], np.uint32)),
        m._replace(terms=np.array([40_000, 60_000, 4], np.uint32)),
    )
    assert rows(Reach.empty(space, 2).including(rare[0], assigned).thin(rare[1], routed)) == [{0}, set(), set()]
    with pytest.raises(InvalidInput):
        Reach.empty(space, 2, 1000)


def test_a_reach_that_is_out_of_date_only_sends_more(rng):
    """Thresholds that have risen since, and subscriptions that have left, lose no pair."""
    for _ in range(20):
        of = world(rng, 20, 20)
        mechanism = fitted(rng, "location", {}, of, 4)
        s = of.subscriptions
        assigned = mechanism.assign(s)
        lower = s._replace(theta=(s.theta * 0.5).astype(np.float32))
        old, new = (Reach.empty(of.space, 4).including(batch, assigned) for batch in (lower, s))
        routed = mechanism.route(of.messages)
        more, fewer = rows(old.thin(of.messages, routed)), rows(new.thin(of.messages, routed))
        assert all(b <= a for a, b in zip(more, fewer, strict=True))
        for j, owner in zip(of.affecting()[1], mechanism.owners(s, of.messages, *of.affecting()), strict=True):
            assert owner in more[j]
