"""Codes of postings: what they stand for is never less favourable than what was written, at any place of any space."""

import math

import numpy as np
import pytest

from nearcast import Engine, ReferenceEngine, earth, invariants, last, plane
from nearcast.kernels import compact
from nearcast.kernels import layout as at
from nearcast.kernels.geometry import box_chord, embed
from nearcast.kernels.jit import kernel
from nearcast.kernels.score import spatial_similarity
from nearcast.policy import Planner
from nearcast.tuning import Tuning

SPACES = [
    plane(0, 0, 1, 1), plane(-3, 7, 1e6, 8), plane(0, 0, 1e15, 1e15), plane(0, 0, 1e-9, 1e-9),
    earth(0.001), earth(0.5), earth(50), earth(),
]  # fmt: skip


@kernel
def grid_point(world, point, lines):
    """The point's lines as a posting has them, and the point on the grid."""
    steps = np.empty(3)
    for c in range(3):
        steps[c] = compact.on_grid(world, point[c])
        lines[c] = min(65535.0, max(0.0, math.floor(steps[c] + 0.5)))
    return steps[0], steps[1], steps[2]


@kernel
def chord_in_float32(lines, x, y, z):
    """The distance as the first test and the headers compute it: the box of one point."""
    f = np.float32
    a, b, c = f(lines[0]), f(lines[1]), f(lines[2])
    return box_chord(f(x), f(y), f(z), a, b, c, a, b, c)


@kernel
def ssim(world, a, b):
    return spatial_similarity(world.radius, world.max_dist, a[0], a[1], a[2], b[0], b[1], b[2])


@kernel
def embedded(world, x, y):
    return embed(world, x, y)


@kernel
def step_of(world):
    return compact.grid_step(world)


@kernel
def codes(taste, alpha, theta):
    up, down, need = compact.share_up(taste), compact.share_down(alpha), compact.need_code(theta, alpha)
    return compact.share(up), compact.share(down), compact.need_of(need)


def places(space, rng):
    """Points of a space: anywhere, at its corners, and such that the grid rounds as much as it can."""
    w = space.world
    yield from zip(rng.uniform(w.xmin, w.xmax, 60), rng.uniform(w.ymin, w.ymax, 60), strict=True)
    yield from [(w.xmin, w.ymin), (w.xmax, w.ymax), (w.xmin, w.ymax), ((w.xmin + w.xmax) / 2, w.ymax)]
    if w.radius == 0.0:
        step = step_of(w)
        for i in rng.integers(0, 65535, 20).tolist():
            yield min(w.xmax, w.xmin + (i + 0.5) * step), min(w.ymax, w.ymin + (i + 0.5) * step)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_no_distance_is_too_long(space, rng):
    world = space.world
    points = [embedded(world, x, y) for x, y in places(space, rng)]
    lines = np.zeros(3)
    tight = 0.0
    for subscription in points:
        grid_point(world, subscription, lines)
        for _ in range(20):
            message = points[rng.integers(len(points))]
            steps = grid_point(world, message, np.zeros(3))
            chord = float(chord_in_float32(lines, *steps))
            reach = min(1.0, max(0.0, chord - float(compact.GRID_ERROR)) * step_of(world) / world.max_dist)
            assert 1.0 - reach >= ssim(world, subscription, message) - 1e-7, (subscription, message)
            tight = max(tight, chord - math.dist(subscription, message) / step_of(world))
    assert tight < float(compact.GRID_ERROR)
    if world.radius == 0.0 and world.ymax - world.ymin == world.xmax - world.xmin:
        assert tight > 0.4  # half a step along one axis at least: the error is really met


def test_codes_are_rounded_to_the_safe_side(rng):
    values = [0.0, 1.0, 1.0 + 2.0**-24, 0.5, *rng.random(500).tolist()]
    for taste in values:
        alpha, theta = np.float32(min(1.0, rng.choice(values))), np.float32(rng.choice(values))
        up, down, need = codes(taste, alpha, theta)
        assert taste - 2e-7 <= up <= taste + 1 / 255 + 1e-6
        assert alpha - 1 / 255 - 1e-6 <= down <= alpha + 2e-7
        assert theta - alpha - 1 / 16384 - 1e-6 <= need <= theta - alpha + 1e-7


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_nothing_meets_a_dead_posting(space):
    """Not even what the slack of the smallest worlds lets through."""
    slack = Planner(space, Tuning()).policy.slack
    assert 1.0 + slack < compact.DEAD / compact.NEEDS - 1.0


def test_a_row_used_again_beside_its_dead_posting():
    for km in (0.001, 0.002, 50.0):
        engines = [make(last(10), earth(km)) for make in (Engine, ReferenceEngine)]
        for engine in engines:
            for number in range(40):
                engine.subscribe(f"s{number}", {"w": 1.0}, at=(0, 0), k=3, alpha=0)
            engine.unsubscribe("s5")
            engine.subscribe("new", {"w": 1.0}, at=(0, 0), k=3, alpha=0)
        first, second = (engine.publish({"w": 1.0}, at=(0, 0), time=0) for engine in engines)
        assert first == second
        invariants.check(engines[0])


@pytest.mark.parametrize("x", [20.0, 37.0, 55.0, 71.0])
def test_a_cell_is_not_skipped_for_a_small_alpha(x):
    """Lemma 6 divides by alpha: rounding must be taken off before."""
    tuning = Tuning(order="paper", rank=1)
    space = plane(0, 0, 100, 100)
    engine, reference = Engine(last(3), space, tuning=tuning), ReferenceEngine(last(3), space)
    for each in (engine, reference):
        each.publish({"w": 1.0}, at=(x, 0), time=0)
        for number in range(70):
            each.subscribe(f"s{number}", {"w": 1.0}, at=(0, 0), k=1, alpha=0.00101)
        each.publish({"w": 1.0}, at=(x, 0), time=0)
    assert [engine.top(id) for id in engine] == [reference.top(id) for id in reference]


def test_long_messages_and_long_subscriptions(rng):
    """Tables of the message's words are cleared and grown; fingerprints end after four later keywords."""
    engine, reference = Engine(last(6), earth(50)), ReferenceEngine(last(6), earth(50))
    for number in range(80):
        chosen = rng.integers(0, 4500, rng.choice([1, 2, 5, 6, 9, 64]))
        words = {f"w{word}": float(rng.choice([1, 1, 1e-9, 7])) for word in chosen}
        place = float(rng.choice([180, -180, 179.99])), float(rng.choice([0, 90, 0.01]))
        k, alpha = int(rng.choice([1, 3])), float(rng.choice([0, 1, 0.5, 0.9]))
        for each in (engine, reference):
            each.subscribe(f"s{number}", words, at=place, k=k, alpha=alpha)
    for size in (4096, 64, 300, 63, 65, 1025, 4096, 10):
        words = {f"w{word}": float(rng.choice([1, 1, 1e-9, 50])) for word in rng.choice(4500, size, replace=False)}
        place = float(rng.choice([180, -180])), float(rng.choice([0, 90]))
        told = [each.publish(words, at=place, time=0) for each in (engine, reference)]
        assert told[0] == told[1]
        assert all(engine.top(id) == reference.top(id) for id in reference)
    invariants.check(engine)
    shard = engine._shards[0]
    used = int(shard.subscriptions.control[at.C_POSTINGS_USED]) // at.BLOCK + 1
    assert shard.postings.eights[:used, at.Q_LATER : at.Q_LATER + at.BLOCK].max() > 4
