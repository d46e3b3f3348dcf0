"""Random worlds for the distribution mechanisms, and the paper's definitions once more, naively.

Few words, few places, thresholds at the very score of a pair: everything rare happens all the time.
"""

from typing import NamedTuple

import numpy as np

from nearcast.kernels.brute import score_parts
from nearcast.space import Space, earth, plane
from nearcast.spark.distribution import MECHANISMS, MessageBatch, SubscriptionBatch, fit

UNIT = 2.0**-24
SPACES = (plane(-3.0, 10.0, 5.0, 14.0), earth(), earth(max_km=900))
ALPHAS = (0.0, 1.0, 1.0 - 2.0**-24, 1e-7, 0.5)


class World(NamedTuple):
    """Subscriptions, messages, and the exact score of every pair; -1 without a common word."""

    space: Space
    subscriptions: SubscriptionBatch
    messages: MessageBatch
    scores: np.ndarray

    def affecting(self):
        """The pairs that a list can depend on: (subscriptions' rows, messages' rows)."""
        return np.nonzero((self.scores >= 0) & (self.scores >= self.subscriptions.theta[:, None]))


def world(rng, subscriptions=None, messages=None, words=None):
    """Of a random size unless told; a message may hold words that no sample had."""
    n = int(rng.choice([0, 1, 5, 40])) if subscriptions is None else subscriptions
    m = int(rng.choice([0, 1, 5, 40])) if messages is None else messages
    words = int(rng.choice([1, 2, 5, 30])) if words is None else words
    space = SPACES[rng.integers(len(SPACES))]
    sites = places(rng, space, int(rng.choice([1, 2, 20])))
    numbers = rng.permutation(10 * n)[:n] if rng.random() < 0.5 else np.arange(n)
    alpha = np.where(rng.random(n) < 0.5, rng.choice(ALPHAS, n), rng.random(n)).astype(np.float32)
    own = batch_places(rng, space, sites, n)
    s_vectors, m_vectors = vectors(rng, n, words), vectors(rng, m, words, unseen=0.1)
    batch = SubscriptionBatch.of(numbers, own, alpha, np.zeros(n), *s_vectors)
    heard = MessageBatch.of(batch_places(rng, space, sites, m), *m_vectors)
    scores = exact_scores(space, batch, heard)
    return World(space, batch._replace(theta=thresholds(rng, scores)), heard, scores)


def places(rng, space, count):
    w = space.world
    return np.column_stack([rng.uniform(w.xmin, w.xmax, count), rng.uniform(w.ymin, w.ymax, count)])


def batch_places(rng, space, sites, count):
    """Half of them on a few sites, the others anywhere: many stand at one x, or one point."""
    chosen = sites[rng.integers(len(sites), size=count)]
    return np.where(rng.random((count, 1)) < 0.5, chosen, places(rng, space, count))


def vectors(rng, count, words, unseen=0.0):
    """Ragged columns: ids descending, unit length, weights multiples of 2**-24, now and then none at all."""
    rows = []
    for _ in range(count):
        terms = set(rng.choice(words, rng.integers(0, min(words, 6) + 1), replace=False).tolist())
        if rng.random() < unseen:
            terms |= set(rng.choice([words + 3, 10**6, 2**32 - 1], 1).tolist())
        raw = rng.random(len(terms)) ** rng.choice([1, 8]) + 1e-9
        weights = np.maximum(np.rint(raw / max(np.linalg.norm(raw), 1e-9) / UNIT), 1) * UNIT
        rows.append((sorted(terms, reverse=True), weights))
    offsets = np.cumsum([0, *(len(terms) for terms, _ in rows)])
    return offsets, np.concatenate([[], *(t for t, _ in rows)]), np.concatenate([[], *(w for _, w in rows)])


def exact_scores(space, subscriptions, messages):
    """By the one score function."""
    s, m = subscriptions, messages
    s_points, m_points = (space.embed(batch.places[:, 0], batch.places[:, 1]) for batch in (s, m))
    scores = np.full((s.rows, m.rows), -1.0, np.float32)
    for i in range(s.rows):
        for j in range(m.rows):
            own, other = slice(*s.offsets[i : i + 2]), slice(*m.offsets[j : j + 2])
            _, tsim, score = score_parts(
                space.radius, space.max_dist, s.alpha[i], s_points[i], s.terms[own], s.weights[own],
                m_points[j], m.terms[other], m.weights[other],
            )  # fmt: skip
            scores[i, j] = score if tsim >= 0.0 else -1.0
    return scores


def thresholds(rng, scores):
    """The score of one of its pairs, just so; or none; or anything, beyond what can be reached as well."""
    n, m = scores.shape
    some = scores[np.arange(n), rng.integers(m, size=n)] if m else np.zeros(n)
    anything = rng.random(n) * 1.2
    pick = rng.choice(3, n, p=[0.6, 0.2, 0.2])
    return np.maximum(0.0, np.choose(pick, [some, np.zeros(n), anything])).astype(np.float32)


SETTINGS = [
    *((name, {}) for name in MECHANISMS),
    ("prefix", {"bound": "length"}),
    ("spatial-first", {"bound": "length", "parts": 3}),
    ("keyword-first", {"parts": 2}),
]


def sample(rng, batch, most=40):
    """What a mechanism is fitted on: some of the rows, or none."""
    return batch.take(rng.integers(batch.rows, size=rng.integers(0, most) if batch.rows else 0))


def fitted(rng, name, settings, of, partitions):
    """A mechanism, fitted on samples of a world."""
    return fit(name, sample(rng, of.subscriptions), sample(rng, of.messages), partitions, **settings)


def rows(routes):
    """A set for each row."""
    return [set(routes.partitions[a:b].tolist()) for a, b in zip(routes.offsets[:-1], routes.offsets[1:], strict=True)]


def check_promise(mechanism, world, subscriptions=None):
    """Every pair that can affect a list has one owner, which both are sent to; homes hold; nothing is sent twice."""
    s = world.subscriptions if subscriptions is None else subscriptions
    assigned, routed = mechanism.assign(s), mechanism.route(world.messages)
    held, sent = rows(assigned), rows(routed)
    for routes, sets, count in ((assigned, held, s.rows), (routed, sent, world.messages.rows)):
        assert routes.rows == count and routes.partitions.dtype == np.int32
        assert len(routes.partitions) == sum(map(len, sets))
        assert set().union(*sets) <= set(mechanism.live.tolist()) <= set(range(mechanism.partitions))
    home = mechanism.home(s)
    assert all(where in mine for where, mine in zip(home.tolist(), held, strict=True))
    affecting = world.affecting()
    owners = mechanism.owners(s, world.messages, *affecting)
    for i, j, owner in zip(*affecting, owners, strict=True):
        assert owner in held[i] and owner in sent[j]
    return len(owners)
