"""Bounds never fall below the similarity, in both spaces, whatever the cell; and they are not needlessly high."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from nearcast.kernels import geometry as g
from nearcast.kernels.score import spatial_similarity
from nearcast.space import EARTH_RADIUS_KM, HALF_ROUND_KM, Space, earth, plane

SEED = 20240607
pytestmark = pytest.mark.lanes
ROUNDS = 60 if numba.config.DISABLE_JIT else 2500
SAMPLES = 60 if numba.config.DISABLE_JIT else 2001

SPACES = {
    "plane": plane(-3.0, 10.0, 5.0, 14.0),
    "far plane": plane(1e6, -1e6, 1e6 + 1.5, -1e6 + 0.5),
    "earth": earth(),
    "earth 50 km": earth(max_km=50),
    "earth 10 m": earth(max_km=0.01),
    "earth 9000 km": earth(max_km=9000),
}


@pytest.fixture(params=SPACES.values(), ids=SPACES.keys())
def space(request: pytest.FixtureRequest) -> Space:
    return request.param


@pytest.fixture
def rng() -> np.random.Generator:
    print("seed", SEED)
    return np.random.default_rng(SEED)


def random_cell(space: Space, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """A quadtree cell at any level: half of them touch the world's border (the poles, lon 180), the rest anywhere."""
    level = int(rng.integers(0, 17))
    column, row = (int(rng.choice([0, (1 << level) - 1, rng.integers(0, 1 << level)])) for _ in range(2))
    prefix = sum(((column >> b & 1) | (row >> b & 1) << 1) << 2 * b for b in range(level))
    return space.cell_rect(prefix, level)


def random_rect(space: Space, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Any rectangle, sometimes right round the earth, sometimes a line or a point."""
    w = space.world
    xs, ys = sorted(rng.uniform(w.xmin, w.xmax, 2)), sorted(rng.uniform(w.ymin, w.ymax, 2))
    match rng.integers(6):
        case 0:
            xs = [w.xmin, w.xmax]
        case 1:
            ys[1] = w.ymax
        case 2:
            xs[1] = xs[0]
    return float(xs[0]), float(ys[0]), float(xs[1]), float(ys[1])


def point_in(rect: tuple[float, float, float, float], rng: np.random.Generator) -> tuple[float, float]:
    """Anywhere in a rectangle, a quarter of the time on an edge or a corner."""
    shares = np.where(rng.random(2) < 0.25, rng.integers(0, 2, 2), rng.random(2))
    x, y = (low + share * (high - low) for low, high, share in zip(rect[:2], rect[2:], shares, strict=True))
    return min(max(x, rect[0]), rect[2]), min(max(y, rect[1]), rect[3])


def point_near(space: Space, rect: tuple[float, float, float, float], rng: np.random.Generator) -> tuple[float, float]:
    """Anywhere in the world, or close outside a rectangle, across the antimeridian and the poles as well."""
    w = space.world
    if rng.random() < 0.3:
        return float(rng.uniform(w.xmin, w.xmax)), float(rng.uniform(w.ymin, w.ymax))
    reach = 10.0 ** rng.uniform(-6, 0)
    x = float(rng.choice([rect[0], rect[2]]) + rng.normal() * reach * max(rect[2] - rect[0], 1e-9))
    y = float(rng.choice([rect[1], rect[3]]) + rng.normal() * reach * max(rect[3] - rect[1], 1e-9))
    if space.radius > 0.0:
        if abs(y) > 90.0:
            y, x = math.copysign(180.0, y) - y, x + 180.0
        x = (x + 180.0) % 360.0 - 180.0
    return min(max(x, w.xmin), w.xmax), min(max(y, w.ymin), w.ymax)


def is_in(rect: tuple[float, float, float, float], x: float, y: float) -> bool:
    return rect[0] <= x <= rect[2] and rect[1] <= y <= rect[3]


def ssim(space: Space, a: tuple[float, float], b: tuple[float, float]) -> float:
    w = space.world
    return float(spatial_similarity(w.radius, w.max_dist, *g_embed(space, *a), *g_embed(space, *b)))


def g_embed(space: Space, x: float, y: float) -> tuple[float, float, float]:
    return tuple(space.embed(x, y)[0].tolist())


@pytest.mark.parametrize("shape", [random_cell, random_rect])
def test_bounds_hold(space: Space, rng: np.random.Generator, shape) -> None:
    w = space.world
    outside = 0
    for _ in range(ROUNDS):
        rect = shape(space, rng)
        s, m = point_in(rect, rng), point_near(space, rect, rng)
        inner, outer = g.boundary_distance(w, *s, *rect), g.rect_distance(w, *m, *rect)
        truth = ssim(space, s, m)
        assert g.combined_bound(w.max_dist, inner, outer) >= truth, (rect, s, m)
        assert g.outer_bound(w.max_dist, outer) >= truth, (rect, s, m)
        if is_in(rect, *m):
            assert outer == 0.0
            assert g.combined_bound(w.max_dist, inner, outer) == 1.0
            assert g.outer_bound(w.max_dist, outer) == 1.0
        else:
            outside += 1
            assert g.inner_bound(w.max_dist, inner) >= truth, (rect, s, m)
            # what the index stores: everything in float32, the arc from the chord
            c = g.combined_bound(np.float32(w.max_dist), np.float32(inner), np.float32(outer))
            assert float(np.float32(c)) + space.slack >= truth
    assert outside > ROUNDS / 10


def test_patch_boxes_hold_their_points(space: Space, rng: np.random.Generator) -> None:
    w = space.world
    for shape in (random_cell, random_rect):
        for _ in range(ROUNDS // 4):
            rect = shape(space, rng)
            box = np.array(g.patch_box(w, *rect))
            points = [point_in(rect, rng) for _ in range(8)]
            inside = space.embed(*zip(*points, strict=True))
            assert (box[:3] <= inside).all() and (inside <= box[3:]).all(), (rect, points)
            rounded = inside.astype(np.float32)
            assert (box[:3].astype(np.float32) <= rounded).all() and (rounded <= box[3:].astype(np.float32)).all()


@pytest.mark.parametrize("space", [earth(), plane(0, 0, 4, 4)], ids=["earth", "plane"])
def test_patch_boxes_are_tight(space: Space, rng: np.random.Generator) -> None:
    for _ in range(2 if numba.config.DISABLE_JIT else 20):
        rect = random_cell(space, rng)
        lon, lat = np.meshgrid(np.linspace(rect[0], rect[2], 301), np.linspace(rect[1], rect[3], 301))
        inside = space.embed(lon, lat)
        box = np.array(g.patch_box(space.world, *rect))
        size = max(space.world.max_dist / 1e6, float(np.max(box[3:] - box[:3])))
        np.testing.assert_allclose(box[:3], inside.min(axis=0), atol=size * 2e-4)
        np.testing.assert_allclose(box[3:], inside.max(axis=0), atol=size * 2e-4)


def test_box_chord_bounds_the_distance_also_in_float32(space: Space, rng: np.random.Generator) -> None:
    w = space.world

    def bound(chord: float) -> float:
        arc = 2 * w.radius * math.asin(min(1.0, float(chord) / (2 * w.radius))) if w.radius else float(chord)
        return max(0.0, 1.0 - arc / w.max_dist)

    for _ in range(ROUNDS):
        rect = random_cell(space, rng)
        s, m = point_in(rect, rng), point_near(space, rect, rng)
        if rng.random() < 0.1 and w.radius:
            m = (s[0] + 180.0 if s[0] <= 0 else s[0] - 180.0, -s[1])  # the antipode
        truth = ssim(space, s, m)
        box, point = np.array(g.patch_box(w, *rect)), np.array(g_embed(space, *m))
        chord = g.box_chord(*point.tolist(), *box.tolist())
        assert bound(chord) + g.ROUNDING >= truth
        if is_in(rect, *m):
            assert chord == 0.0
        chord32 = g.box_chord(*point.astype(np.float32), *box.astype(np.float32))
        assert bound(chord32) + space.slack >= truth
        assert bound(max(0.0, chord32 - space.chord_slack)) + g.ROUNDING >= truth
        # two points, both rounded
        here, there = np.array(g_embed(space, *s), np.float32), point.astype(np.float32)
        assert bound(g.box_chord(*there, *here, *here)) + space.slack >= truth
        if w.radius:
            near = np.array([s, m], np.float32)
            a, b = g_embed(space, *near[0].tolist()), g_embed(space, *near[1].tolist())
            assert bound(g.box_chord(*a, *b, *b)) + space.slack >= truth


def test_box_chord_keeps_float32() -> None:
    one = np.float32(1)
    got = g.box_chord(one * 3, one, one, one, one, one, one, one, one)
    assert got == 2.0
    if not numba.config.DISABLE_JIT:
        kinds = {s.args[0]: s.return_type for s in (c.signature for c in g.box_chord.overloads.values())}
        assert kinds[numba.float32] == numba.float32


def edge_points(rect: tuple[float, float, float, float], n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points along the four edges (south, north, west, east) and the number of each one's edge."""
    x, y = np.linspace(rect[0], rect[2], n), np.linspace(rect[1], rect[3], n)
    full = np.full(n, 1.0)
    xs = np.concatenate([x, x, full * rect[0], full * rect[2]])
    ys = np.concatenate([full * rect[1], full * rect[3], y, y])
    return xs, ys, np.repeat(np.arange(4), n)


@pytest.mark.parametrize("shape", [random_cell, random_rect])
@pytest.mark.parametrize("space", [earth(), plane(-3.0, 10.0, 5.0, 14.0)], ids=["earth", "plane"])
def test_distances_are_exact(space: Space, rng: np.random.Generator, shape) -> None:
    """Against the nearest of many points on the edges."""
    w = space.world
    for _ in range(ROUNDS // 12):
        rect = shape(space, rng)
        s, m = point_in(rect, rng), point_near(space, rect, rng)
        xs, ys, edge = edge_points(rect, SAMPLES)
        step = max(rect[2] - rect[0], rect[3] - rect[1]) / (SAMPLES - 1) * (w.radius * g.DEGREE if w.radius else 1.0)

        def sampled(x: float, y: float, keep: np.ndarray, xs=xs, ys=ys) -> float:
            if not keep.any():
                return math.inf
            n = int(keep.sum())
            return float((1 - space.ssim(np.full(n, x), np.full(n, y), xs[keep], ys[keep])).min()) * w.max_dist

        every = np.ones(edge.size, bool)
        outer = 0.0 if is_in(rect, *m) else sampled(*m, every)
        got = g.rect_distance(w, *m, *rect)
        assert got == pytest.approx(outer, abs=step + 1e-9 * w.max_dist)
        assert got <= outer + 1e-8 * w.max_dist

        real = np.array([rect[1] > w.ymin, rect[3] < w.ymax, *boundaries_across(space, rect)])
        inner = sampled(*s, real[edge])
        got = g.boundary_distance(w, *s, *rect)
        assert got == pytest.approx(inner, abs=step + 1e-9 * w.max_dist)
        assert got <= inner + 1e-8 * w.max_dist


def boundaries_across(space: Space, rect: tuple[float, float, float, float]) -> tuple[bool, bool]:
    if space.radius > 0.0:
        return (rect[2] - rect[0] < 360.0,) * 2
    return rect[0] > space.world.xmin, rect[2] < space.world.xmax


def test_the_paper_s_example() -> None:
    """Section 5.1: MaxDist 1.6, s2 0.25 from the border of c1, m2 0.3 from c1 (the paper cuts 0.656 off to 0.65)."""
    assert g.inner_bound(1.6, 0.25) == pytest.approx(0.84375, abs=1e-7)
    assert g.outer_bound(1.6, 0.3) == pytest.approx(0.8125, abs=1e-7)
    assert g.combined_bound(1.6, 0.25, 0.3) == pytest.approx(0.65625, abs=1e-7)
    for got, printed in ((0.84375, 0.84), (0.8125, 0.81), (0.65625, 0.65)):
        assert math.floor(got * 100) / 100 == printed
    world = plane(0, 0, 1.6 * 0.8, 1.6 * 0.6).world
    assert world.max_dist == pytest.approx(1.6)
    cell = (0.0, 0.0, 0.64, 0.48)
    assert g.boundary_distance(world, 0.2, 0.23, *cell) == pytest.approx(0.25)
    assert g.rect_distance(world, 0.64 + 0.18, 0.48 + 0.24, *cell) == pytest.approx(0.3)
    assert g.combined_bound(world.max_dist, 0.25, 0.0) == 1.0


def test_the_edge_of_the_world_is_no_boundary() -> None:
    whole = earth().world
    km = EARTH_RADIUS_KM * g.DEGREE
    assert g.boundary_distance(whole, 179.9, 89.9, -180, -90, 180, 90) == math.inf
    assert g.boundary_distance(whole, 179.9, 80, -180, 0, 180, 90) == pytest.approx(80 * km)
    assert g.boundary_distance(whole, 179.9, 0, 0, -90, 180, 90) == pytest.approx(0.1 * km)  # lon 180 is one
    assert g.boundary_distance(whole, 45, 89, 0, 0, 90, 90) == pytest.approx(km * math.sqrt(0.5), rel=1e-3)
    flat = plane(0, 0, 8, 4).world
    assert g.boundary_distance(flat, 1, 1, 0, 0, 8, 4) == math.inf
    assert g.boundary_distance(flat, 1, 1, 0, 0, 4, 4) == 3.0


def test_distances_across_the_antimeridian_and_the_pole() -> None:
    whole = earth().world
    km = EARTH_RADIUS_KM * g.DEGREE
    assert g.rect_distance(whole, 180.0, 10.0, -180, 0, -90, 45) == 0.0
    assert g.rect_distance(whole, 179.0, 0.0, -180, -10, -90, 45) == pytest.approx(km)
    assert g.rect_distance(whole, -179.0, 0.0, 90, -10, 180, 45) == pytest.approx(km)
    assert g.rect_distance(whole, 90.0, 89.0, -90, 50, -90, 89) == pytest.approx(2 * km)  # over the pole
    assert g.rect_distance(whole, 77.0, 90.0, -100, 50, -80, 90) == pytest.approx(0.0, abs=1e-9)
    assert g.rect_distance(whole, 0.0, 0.0, 180, 0, 180, 0) == pytest.approx(HALF_ROUND_KM)


def test_sines_of_degrees(rng: np.random.Generator) -> None:
    angles = np.concatenate([rng.uniform(-180, 180, ROUNDS), np.arange(-180, 181, 15.0)])
    for angle in angles.tolist():
        s, c = g.sincos_degrees(angle)
        assert s == pytest.approx(math.sin(math.radians(angle)), abs=4e-16)
        assert c == pytest.approx(math.cos(math.radians(angle)), abs=4e-16)
    assert g.sincos_degrees(180.0) == (0.0, -1.0) == g.sincos_degrees(-180.0)
    assert g.sincos_degrees(90.0) == (1.0, 0.0)
    assert g.sincos_degrees(-90.0) == (-1.0, 0.0)
