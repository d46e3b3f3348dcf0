"""The two spaces: `plane`, the paper's rectangle with straight distances, and `earth`, lon/lat with great circles.

Every point is embedded in three float64 coordinates once, when it is taken in; distances and boxes start from there
(`kernels.geometry`). Units: the plane's own, kilometres on earth.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearcast.errors import InvalidInput, RowError
from nearcast.kernels import geometry
from nearcast.kernels.geometry import World

EARTH_RADIUS_KM = 6371.0088
HALF_ROUND_KM = math.pi * EARTH_RADIUS_KM
MIN_EARTH_KM = 0.001
MAX_SIDE = 1e15
"""Squares of distances stay far inside float32."""
MIN_SIDE = 1e-9
"""The shortest side, and the shortest share of the largest coordinate: below it float64 could not tell cells apart."""


class Space(ABC):
    """What both spaces share; `world` is all that kernels need to know of one."""

    kind: ClassVar[str]
    x_name: ClassVar[str] = "x"
    y_name: ClassVar[str] = "y"

    @property
    @abstractmethod
    def world(self) -> World:
        """The settings as kernels take them."""

    @property
    def radius(self) -> float:
        """0.0 for a plane, the sphere's radius otherwise."""
        return self.world.radius

    @property
    def max_dist(self) -> float:
        """The distance at which SSim is 0."""
        return self.world.max_dist

    def check(self, x: float, y: float) -> str | None:
        """What is wrong with a point, or None. NaN and infinity are outside every space."""
        w = self.world
        if not w.xmin <= x <= w.xmax:
            return _outside(self.x_name, w.xmin, w.xmax, x)
        if not w.ymin <= y <= w.ymax:
            return _outside(self.y_name, w.ymin, w.ymax, y)
        return None

    def problems(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> list[RowError]:
        """The same of many points: one entry for each bad row, in order, of its first bad field (`x` or `y`)."""
        w = self.world
        good_x = (x >= w.xmin) & (x <= w.xmax)
        good = good_x & (y >= w.ymin) & (y <= w.ymax)
        return [
            RowError(row, "y" if good_x[row] else "x", str(self.check(float(x[row]), float(y[row]))))
            for row in np.flatnonzero(~good).tolist()
        ]

    def embed(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """The points' three coordinates, float64[n, 3]: the same bits alone or in a batch."""
        xs, ys = _column(x), _column(y)
        out = np.empty((xs.size, 3))
        geometry.embed_points(self.world, xs, ys, out)
        return out

    def morton(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.uint32]:
        """The points' Morton codes, 16 + 16 bits: nearby points sort together, a quadtree cell is a prefix."""
        xs, ys = _column(x), _column(y)
        out = np.empty(xs.size, np.uint32)
        geometry.morton_codes(self.world, xs, ys, out)
        return out

    def cell_rect(self, prefix: int, level: int) -> tuple[float, float, float, float]:
        """The rectangle (x0, y0, x1, y1) of the cell of all codes with `code >> (32 - 2 * level) == prefix`."""
        return geometry.cell_rect(self.world, int(prefix), int(level))

    def ssim(self, x: ArrayLike, y: ArrayLike, other_x: ArrayLike, other_y: ArrayLike) -> NDArray[np.float64]:
        """SSim of pairs of points, row by row."""
        a, b = self.embed(x, y), self.embed(other_x, other_y)
        out = np.empty(len(a))
        geometry.similarities(self.world, a, b, out)
        return out

    @cached_property
    def chord_slack(self) -> float:
        """How much too long a float32 chord may be, computed in float32 from embedded coordinates rounded to float32.

        With u = 2**-24 and coordinates up to M: two roundings put an axis' difference off by 2uM and subtracting by
        another 2uM, so three axes by 4 sqrt(3) uM < 7uM; squares, sums and root are relative errors of 2.5u of at most
        2M (nothing in either space is farther). Together 12uM: 4.6 m on earth. A longitude and latitude rounded to
        float32 is at most 1 m off, so it covers chords between such points, too.
        """
        w = self.world
        largest = w.radius if w.radius > 0.0 else max(w.xmax - w.xmin, w.ymax - w.ymin)
        return 12.0 * 2.0**-24 * largest

    @cached_property
    def slack(self) -> float:
        """Add this to a bound on SSim that was computed from float32 coordinates, and it is a bound again.

        On the plane it is the chord's slack over MaxDist. On earth the arc is a convex function of the chord, so the
        same error does most at the longest chord that still scores, at worst at the antipode (3e-4 with the default
        MaxDist). The last 1e-6 pays for the division, the arc sine, a stored float32 distance and the blend with the
        text's score.
        """
        w, error = self.world, self.chord_slack
        if w.radius > 0.0:
            twice = 2.0 * w.radius
            farthest = twice * math.sin(min(w.max_dist, HALF_ROUND_KM) / twice)
            start = min(farthest, twice - error)
            error = twice * (math.asin(min(1.0, (start + error) / twice)) - math.asin(start / twice))
        return error / w.max_dist + 1e-6

    def to_json(self) -> dict[str, Any]:
        """The settings, for a snapshot; `from_json` reads them."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Plane(Space):
    """A rectangle with straight distances; MaxDist is its diagonal (paper, section 3)."""

    xmin: float
    ymin: float
    xmax: float
    ymax: float
    kind: ClassVar[str] = "plane"

    def __post_init__(self) -> None:
        for name in ("xmin", "ymin", "xmax", "ymax"):
            object.__setattr__(self, name, _number("space", f"plane's {name}", getattr(self, name)))
        for axis, low, high in (("x", self.xmin, self.xmax), ("y", self.ymin, self.ymax)):
            least = MIN_SIDE * max(1.0, abs(low), abs(high))
            if not least <= high - low <= MAX_SIDE:
                raise InvalidInput(
                    "space",
                    f"plane's {axis}max - {axis}min must be from {least:g} to {MAX_SIDE:g}, not {high - low!r}",
                )

    @cached_property
    def world(self) -> World:
        diagonal = math.hypot(self.xmax - self.xmin, self.ymax - self.ymin)
        return World(0.0, diagonal, self.xmin, self.ymin, self.xmax, self.ymax)


@dataclass(frozen=True)
class Earth(Space):
    """A sphere of radius 6371.0088 km, points as lon/lat in degrees; SSim is 0 from `max_km` on."""

    max_km: float = HALF_ROUND_KM
    kind: ClassVar[str] = "earth"
    x_name: ClassVar[str] = "longitude"
    y_name: ClassVar[str] = "latitude"

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_km", _number("space", "earth's max_km", self.max_km))
        if not self.max_km >= MIN_EARTH_KM:
            raise InvalidInput("space", f"earth's max_km must be at least {MIN_EARTH_KM}, not {self.max_km!r}")

    @cached_property
    def world(self) -> World:
        return World(EARTH_RADIUS_KM, self.max_km, -180.0, -90.0, 180.0, 90.0)


def plane(xmin: float, ymin: float, xmax: float, ymax: float) -> Plane:
    """The rectangle from (xmin, ymin) to (xmax, ymax), borders included."""
    return Plane(xmin, ymin, xmax, ymax)


def earth(max_km: float = HALF_ROUND_KM) -> Earth:
    """The earth; two points `max_km` apart or more have SSim 0 (default: half the circumference)."""
    return Earth(max_km)


def from_json(settings: Mapping[str, Any]) -> Plane | Earth:
    """The space that `to_json` described."""
    names = {"plane": {"kind", "xmin", "ymin", "xmax", "ymax"}, "earth": {"kind", "max_km"}}
    kind = settings.get("kind")
    if not isinstance(kind, str) or kind not in names:
        raise InvalidInput("space", f"kind must be 'plane' or 'earth', not {kind!r}")
    if set(settings) != names[kind]:
        raise InvalidInput("space", f"settings of a {kind} are {sorted(names[kind])}, not {sorted(settings)}")
    rest = {name: value for name, value in settings.items() if name != "kind"}
    return Plane(**rest) if kind == "plane" else Earth(**rest)


def _number(field: str, name: str, value: object) -> float:
    """A finite float, or InvalidInput."""
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise InvalidInput(field, f"{name} must be a finite number, not {value!r}")


def _outside(name: str, low: float, high: float, value: float) -> str:
    return f"{name} must be a number from {low:g} to {high:g}, not {value!r}"


def _column(values: ArrayLike) -> NDArray[np.float64]:
    """The one gate into the kernels: float64, contiguous, one dimension."""
    return np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
