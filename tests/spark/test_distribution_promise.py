"""What all mechanisms promise: a pair that can affect a list is found in exactly one partition, whatever the world."""

import json
import pickle

import numpy as np
import pytest

from nearcast.errors import InvalidInput
from nearcast.spark.distribution import Mechanism, communication_cost, fit, merge, moves, replication_ratio, split
from support.distribution import SETTINGS, check_promise, fitted, rows, sample, world

EACH = pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)


@EACH
@pytest.mark.lanes
def test_every_pair_has_one_owner(rng, name, settings):
    pairs = 0
    for size in [None] * 8 + [20] * 4:
        of = world(rng, size, size)
        pairs += check_promise(fitted(rng, name, settings, of, int(rng.integers(1, 18))), of)
    assert pairs > 50


@EACH
def test_every_pair_has_one_owner_in_many_worlds(rng, name, settings):
    for _ in range(100):
        of = world(rng)
        check_promise(fitted(rng, name, settings, of, int(rng.integers(1, 18))), of)


@EACH
def test_only_its_owner_counts_a_pair(rng, name, settings):
    """Asked of all pairs, the owner is one of the partitions where they meet, or nobody: never a third one."""
    for _ in range(20):
        of = world(rng, 30, 30)
        mechanism = fitted(rng, name, settings, of, int(rng.integers(1, 18)))
        every = tuple(index.ravel() for index in np.indices(of.scores.shape))
        owners = mechanism.owners(of.subscriptions, of.messages, *every)
        held, sent = rows(mechanism.assign(of.subscriptions)), rows(mechanism.route(of.messages))
        met = [held[i] & sent[j] for i, j in zip(*every, strict=True)]
        assert all(owner == -1 or owner in where for owner, where in zip(owners.tolist(), met, strict=True))


@EACH
def test_placed_survives_thresholds_that_rise(rng, name, settings):
    """Whoever keeps `placed` need not move when the threshold rises, and must when `needs_move` says so."""
    moved = 0
    for _ in range(40):
        of = world(rng, 30, 30)
        mechanism = fitted(rng, name, settings, of, 7)
        real = of.subscriptions
        once = real._replace(theta=(real.theta * rng.uniform(0.3, 1.5, 30)).astype(np.float32))
        placed = mechanism.placed(once)
        late = real._replace(placed=placed)
        need = mechanism.needs_move(late)
        now = late._replace(placed=np.where(need, mechanism.placed(real), placed))
        check_promise(mechanism, of, now)
        told = moves(mechanism, mechanism, late, now)
        assert not len(told.leaving.partitions)
        for i in np.flatnonzero(told.rehomed):
            assert int(mechanism.home(now)[i]) in rows(told.arriving)[i]
        assert not np.diff(told.arriving.offsets)[~need].any()
        moved += np.count_nonzero(need)
    assert (moved > 0) == (name not in ("hashing", "location", "keyword"))


@EACH
def test_a_checkpoint_gives_it_back(rng, name, settings):
    of = world(rng, 40, 40)
    mechanism = fitted(rng, name, settings, of, 9)
    written = json.dumps(mechanism.to_json())
    for same in (Mechanism.from_json(json.loads(written)), pickle.loads(pickle.dumps(mechanism))):  # noqa: S301
        assert type(same) is type(mechanism) and json.dumps(same.to_json()) == written
        for ask in ("assign", "home", "placed"):
            for one, other in zip(
                getattr(same, ask)(of.subscriptions), getattr(mechanism, ask)(of.subscriptions), strict=True
            ):
                np.testing.assert_array_equal(one, other, strict=True)
        for one, other in zip(same.route(of.messages), mechanism.route(of.messages), strict=True):
            np.testing.assert_array_equal(one, other, strict=True)
        cut_again = split(same, 0, of.subscriptions, of.messages)
        assert cut_again.to_json() == split(mechanism, 0, of.subscriptions, of.messages).to_json()


@EACH
def test_the_same_samples_give_the_same_mechanism(rng, name, settings):
    of = world(rng, 40, 40)
    one, other = (fit(name, of.subscriptions, of.messages, 6, **settings) for _ in range(2))
    assert one.to_json() == other.to_json()


@EACH
def test_rows_do_not_depend_on_their_batch(rng, name, settings):
    """A batch, its rows one by one, and a slice whose offsets do not begin at 0 go the same ways."""
    of = world(rng, 30, 30)
    mechanism = fitted(rng, name, settings, of, 8)
    for batch, ask in ((of.subscriptions, mechanism.assign), (of.messages, mechanism.route)):
        whole = rows(ask(batch))
        assert whole == [rows(ask(batch.take(np.array([i]))))[0] for i in range(batch.rows)]
        sliced = [column for column in batch._fields if column not in ("terms", "weights", "placed")]
        assert whole[10:] == rows(ask(batch._replace(**{column: getattr(batch, column)[10:] for column in sliced})))
    assert mechanism.home(of.subscriptions).tolist() == [
        int(mechanism.home(of.subscriptions.take(np.array([i])))[0]) for i in range(30)
    ]


@EACH
def test_ratio_and_cost(rng, name, settings):
    """As the paper's table bounds them."""
    of = world(rng, 40, 40, words=30)
    mechanism = fit(name, of.subscriptions, of.messages, 8, **settings)
    assigned, routed = mechanism.assign(of.subscriptions), mechanism.route(of.messages)
    ratio, cost = replication_ratio(assigned), communication_cost(routed)
    assert ratio == sum(map(len, rows(assigned))) / 40 and cost == sum(map(len, rows(routed))) / 40
    if name in ("hashing", "location"):
        assert ratio == 1.0 and cost == 8.0
    else:
        placed = np.maximum(1, mechanism.placed(of.subscriptions))
        assert 1.0 <= ratio <= placed.mean()
    if name in ("keyword", "prefix"):
        assert cost <= np.minimum(8, np.diff(of.messages.offsets)).mean() < 8


@EACH
def test_no_samples_no_harm(rng, name, settings):
    of = world(rng, 0, 0)
    for partitions in (1, 2, 17):
        mechanism = fit(name, of.subscriptions, of.messages, partitions, **settings)
        assert mechanism.partitions == partitions
        assert replication_ratio(mechanism.assign(of.subscriptions)) == 0.0
        check_promise(mechanism, world(rng, 20, 20))


@EACH
@pytest.mark.lanes
def test_split_and_merge_keep_the_promise(rng, name, settings):
    """A random life: whatever was split and merged, only whom it concerns moves, and numbers are used again."""
    of = world(rng, 40, 40, words=30)
    own, heard = of.subscriptions, of.messages
    mechanism = fitted(rng, name, settings, of, 5)
    grown = 0
    for _ in range(25):
        before, width = mechanism, mechanism.partitions
        live = before.live.tolist()
        some = int(rng.choice(live))
        if rng.random() < 0.5 and len(live) > 1:
            other = int(rng.choice([p for p in live if p != some]))
            mechanism = merge(before, some, other)
            assert mechanism.live.tolist() == [p for p in live if p != other]
            concerned = {some, other}
        else:
            mechanism = split(before, some, sample(rng, own), sample(rng, heard))
            concerned = {some}
            if mechanism is not before:
                free = min(set(range(width + 1)) - set(live))
                assert set(mechanism.live.tolist()) == {*live, free} and mechanism.partitions == max(width, free + 1)
                concerned |= {free}
                grown += 1
        check_promise(mechanism, of)
        assert Mechanism.from_json(mechanism.to_json()).to_json() == mechanism.to_json()
        told = moves(before, mechanism, own)
        assert {*told.arriving.partitions.tolist(), *told.leaving.partitions.tolist()} <= concerned
        old, new = rows(before.assign(own)), rows(mechanism.assign(own))
        assert rows(told.arriving) == [b - a for a, b in zip(old, new, strict=True)]
        assert rows(told.leaving) == [a - b for a, b in zip(old, new, strict=True)]
        for i in np.flatnonzero(told.rehomed):
            assert {int(before.home(own)[i]), int(mechanism.home(own)[i])} & concerned
        assert told.rehomed.tolist() == (before.home(own) != mechanism.home(own)).tolist()
    assert grown > 2


@EACH
def test_a_split_gives_some_away(rng, name, settings):
    """And nobody else notices."""
    of = world(rng, 400, 10, words=30)
    mechanism = fit(name, of.subscriptions, of.messages, 4, **settings)
    held = np.bincount(mechanism.assign(of.subscriptions).partitions, minlength=5)
    hot = int(held.argmax())
    halved = split(mechanism, hot, of.subscriptions, of.messages)
    after = np.bincount(halved.assign(of.subscriptions).partitions, minlength=5)
    assert after[hot] > 0 and 0 < after[4] < held[hot] <= after[hot] + after[4]
    assert sorted(set(range(4)) - {hot}) == [p for p in range(4) if p != hot and after[p] == held[p]]


def test_what_is_refused(rng):
    of = world(rng, 5, 5)
    mechanism = fit("hashing", of.subscriptions, of.messages, 3)
    for wrong in (
        lambda: fit("nearest", of.subscriptions, of.messages, 3),
        lambda: fit("prefix", of.subscriptions, of.messages, 3, bound="none"),
        lambda: fit("keyword-first", of.subscriptions, of.messages, 0),
        lambda: merge(mechanism, 1, 1),
        lambda: merge(mechanism, 1, 3),
        lambda: split(mechanism, -1, of.subscriptions, of.messages),
        lambda: Mechanism.from_json({"kind": "nearest"}),
        lambda: Mechanism.from_json({"kind": "hashing", "labels": [0]}),
    ):
        with pytest.raises(InvalidInput):
            wrong()
