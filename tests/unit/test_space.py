"""Spaces: settings, checks, embedding, Morton codes and similarity."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from nearcast.errors import InvalidInput, RowError
from nearcast.space import EARTH_RADIUS_KM, HALF_ROUND_KM, Earth, Plane, Space, earth, from_json, plane

SEED = 71
pytestmark = pytest.mark.lanes
COUNT = 300 if numba.config.DISABLE_JIT else 20_000
SPACES = [plane(-3.0, 10.0, 5.0, 14.0), plane(1e6, 0, 1e6 + 0.7, 0.1), earth(), earth(50)]


@pytest.fixture(params=SPACES, ids=repr)
def space(request: pytest.FixtureRequest) -> Space:
    return request.param


@pytest.fixture
def rng() -> np.random.Generator:
    print("seed", SEED)
    return np.random.default_rng(SEED)


def points(space: Space, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    w = space.world
    x, y = rng.uniform(w.xmin, w.xmax, count), rng.uniform(w.ymin, w.ymax, count)
    x[:4], y[:4] = [w.xmin, w.xmax, w.xmin, w.xmax], [w.ymin, w.ymin, w.ymax, w.ymax]
    return x, y


def test_settings() -> None:
    assert plane(0, 0, 3, 4).max_dist == 5.0 and plane(0, 0, 3, 4).radius == 0.0
    assert earth().max_dist == HALF_ROUND_KM and earth(50).max_dist == 50.0
    assert earth().radius == EARTH_RADIUS_KM == 6371.0088
    assert plane(0, 0, 1, 1) == Plane(0.0, 0.0, 1.0, 1.0) and earth(7) == Earth(7.0) != earth(8)
    assert hash(earth(7)) == hash(earth(7))


@pytest.mark.parametrize(
    "make",
    [
        lambda: plane(0, 0, 0, 1),
        lambda: plane(0, 1, 1, 0),
        lambda: plane(0, 0, math.nan, 1),
        lambda: plane(-math.inf, 0, 1, 1),
        lambda: plane(0, 0, 1e16, 1),
        lambda: plane(0, 0, 1e-10, 1),
        lambda: plane(1e12, 0, 1e12 + 1, 1),
        lambda: plane(-1e308, 0, 1e308, 1),
        lambda: plane(0, 0, 10**400, 1),
        lambda: plane("0", 0, 1, 1),  # type: ignore[arg-type]
        lambda: plane(False, 0, 1, 1),
        lambda: earth(0),
        lambda: earth(-5),
        lambda: earth(1e-9),
        lambda: earth(math.inf),
        lambda: earth(math.nan),
        lambda: earth(None),  # type: ignore[arg-type]
    ],
)
def test_settings_that_are_refused(make) -> None:
    with pytest.raises(InvalidInput, match=r"^space: (plane|earth)'s ") as caught:
        make()
    assert caught.value.field == "space"


def test_settings_as_json(space: Space) -> None:
    again = from_json(space.to_json())
    assert again == space and type(again) is type(space) and again.world == space.world


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kind": "torus"},
        {"kind": ["plane"]},
        {"kind": "earth"},
        {"kind": "earth", "max_km": 5, "more": 1},
        {"kind": "plane", "max_km": 5},
        {"kind": "earth", "max_km": "5"},
        {"kind": "plane", "xmin": 0, "ymin": 0, "xmax": 0, "ymax": 0},
    ],
)
def test_json_that_is_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=r"^space: "):
        from_json(settings)


def test_points_are_checked() -> None:
    e, p = earth(), plane(0, 0, 10, 5)
    assert e.check(180, -90) is None and e.check(-180, 90) is None and p.check(10, 0) is None
    assert e.check(180.0001, 0) == "longitude must be a number from -180 to 180, not 180.0001"
    assert e.check(0, -91.0) == "latitude must be a number from -90 to 90, not -91.0"
    assert p.check(3, math.nan) == "y must be a number from 0 to 5, not nan"
    assert p.check(math.inf, 3) == "x must be a number from 0 to 10, not inf"
    x = np.array([0.0, math.nan, 3.0, 181.0, -math.inf, 0.0])
    y = np.array([0.0, math.nan, 90.5, 0.0, 0.0, 90.0])
    assert e.problems(x, y) == [
        RowError(1, "x", "longitude must be a number from -180 to 180, not nan"),
        RowError(2, "y", "latitude must be a number from -90 to 90, not 90.5"),
        RowError(3, "x", "longitude must be a number from -180 to 180, not 181.0"),
        RowError(4, "x", "longitude must be a number from -180 to 180, not -inf"),
    ]
    assert e.problems(x[:1], y[:1]) == [] == e.problems(x[:0], y[:0])


def test_embedding_is_the_same_alone_and_in_a_batch(space: Space, rng: np.random.Generator) -> None:
    x, y = points(space, rng, COUNT)
    batch = space.embed(x, y)
    assert batch.shape == (COUNT, 3) and batch.dtype == np.float64
    for i in range(0, COUNT, max(1, COUNT // 300)):
        assert space.embed(x[i], y[i]).tobytes() == batch[i].tobytes()
    assert space.embed(x[::2], y[::2]).tobytes() == batch[::2].tobytes()


def test_embedding_is_right(rng: np.random.Generator) -> None:
    x, y = points(earth(), rng, COUNT)
    lon, lat = np.radians(x), np.radians(y)
    want = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1) * EARTH_RADIUS_KM
    np.testing.assert_allclose(earth().embed(x, y), want, atol=1e-11)
    assert plane(-3, 10, 5, 14).embed(-1.0, 13.5).tolist() == [[2.0, 3.5, 0.0]]
    assert (earth().embed([180.0, 5.0], [17.0, 90.0]) == earth().embed([-180.0, -123.0], [17.0, 90.0])).all()


def test_similarity() -> None:
    assert plane(0, 0, 3, 4).ssim([0, 0, 3], [0, 0, 2], [3, 0, 3], [4, 0, 4]).tolist() == [0.0, 1.0, 0.6]
    e = earth()
    got = e.ssim([0, 0, 180, 12, 0, 179.5], [0, 90, 8, 90, 0, 0], [180, 0, -180, 77, 90, -179.5], [0, -90, 8, 90, 0, 0])
    np.testing.assert_allclose(got, [0, 0, 1, 1, 0.5, 1 - 1 / 180], atol=1e-9)
    # Sydney to Melbourne, about 713 km
    assert (1 - e.ssim(151.2093, -33.8688, 144.9631, -37.8136)[0]) * e.max_dist == pytest.approx(713.4, abs=1.0)
    assert earth(700).ssim(151.2093, -33.8688, 144.9631, -37.8136).tolist() == [0.0]


def test_similarity_stays_in_range(space: Space, rng: np.random.Generator) -> None:
    (x, y), (u, v) = points(space, rng, COUNT), points(space, rng, COUNT)
    got = space.ssim(x, y, u[::-1], v[::-1])
    assert (got >= 0).all() and (got <= 1).all()
    assert (got == space.ssim(u[::-1], v[::-1], x, y)).all()
    assert (space.ssim(x, y, x, y) == 1).all()


@pytest.mark.parametrize("level", [0, 1, 2, 7, 15, 16])
def test_cells_are_morton_prefixes(space: Space, rng: np.random.Generator, level: int) -> None:
    count = min(COUNT, 2000)
    x, y = points(space, rng, count)
    w = space.world
    some = rng.integers(1, 1 << 16, count // 4) / 65536  # on grid lines, where rounding could tell a wrong story
    lines = np.minimum(w.xmin + (w.xmax - w.xmin) * some, w.xmax)
    x[-2 * some.size :] = np.concatenate([lines, np.nextafter(lines, -np.inf)])
    codes = space.morton(x, y)
    assert codes.dtype == np.uint32
    for a, b, code in zip(x.tolist(), y.tolist(), codes.tolist(), strict=True):
        x0, y0, x1, y1 = space.cell_rect(code >> (32 - 2 * level), level)
        assert x0 <= a <= x1 and y0 <= b <= y1
        assert (a < x1 or x1 == w.xmax) and (b < y1 or y1 == w.ymax)


def test_cells_split_into_four(space: Space) -> None:
    w = space.world
    assert space.cell_rect(0, 0) == (w.xmin, w.ymin, w.xmax, w.ymax)
    prefix, level = 0b1101100010, 5
    x0, y0, x1, y1 = space.cell_rect(prefix, level)
    south_west, south_east, north_west, north_east = (space.cell_rect(prefix * 4 + i, level + 1) for i in range(4))
    assert south_west[:2] == (x0, y0) and north_east[2:] == (x1, y1)
    assert south_west[2:] == north_east[:2] == (south_east[0], north_west[1]) == (north_west[2], south_east[3])
    assert (south_east[2], south_east[1]) == (x1, y0) and (north_west[0], north_west[3]) == (x0, y1)


def test_codes_of_the_corners(space: Space) -> None:
    w = space.world
    corners = space.morton([w.xmin, w.xmax, w.xmin, w.xmax], [w.ymin, w.ymin, w.ymax, w.ymax])
    assert corners.tolist() == [0, 0x55555555, 0xAAAAAAAA, 0xFFFFFFFF]


def test_slack() -> None:
    assert earth().chord_slack == pytest.approx(0.00456, abs=1e-5)
    assert earth(50).slack == pytest.approx(0.00456 / 50, rel=0.02)
    assert 1e-6 < plane(0, 0, 3, 4).slack < 2e-6
    assert 1e-5 < earth().slack < 1e-3
    assert earth(1e6).slack < earth().slack
