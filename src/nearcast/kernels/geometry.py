"""Where points are, how far rectangles are, and how similar a place can be at most (paper, section 5.1).

A rectangle is (x0, y0, x1, y1) in the user's coordinates: lon/lat degrees on earth. A point is embedded in three
coordinates (see `embed_points`), so that one box test serves both spaces. Everything here that bounds a distance is a
lower bound of the distance that `score.spatial_similarity` measures, up to float64 rounding, which the three bounds of
Definitions 6 to 8 put back as `ROUNDING`.

Sine and cosine are our own, of degrees: additions and multiplications only. So a point gets the same bits alone or in
a batch, on every machine and libm (vectorised library sines differ in the last bit), lon 180 and -180 are one point,
and so are all longitudes of a pole.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.kernels.jit import helper, kernel, routine
from nearcast.kernels.score import spatial_similarity

F64 = NDArray[np.float64]

DEGREE = math.pi / 180.0

ROUNDING = 2.0**-24
"""More than float64 can take from a similarity. The worst place is the antipode, where an arc sine turns an error of e
in the chord into sqrt(2 e) in the arc: 3e-8 of half the circumference. Elsewhere it is below 2e-8 down to a MaxDist of
1 m, the least that `earth` takes."""

PAD = 2.0**-40
"""Patch boxes grow by this share of the radius (6 micrometres on earth), a hundred times what sines may be off."""

MORTON_BITS = 16
MORTON_SIDE = 1 << MORTON_BITS


class World(NamedTuple):
    """A space as kernels see it."""

    radius: float  # 0.0: a plane
    max_dist: float
    xmin: float  # the rectangle of all points: the plane's own, or -180, -90, 180, 90
    ymin: float
    xmax: float
    ymax: float


# --- embedding -------------------------------------------------------------------------------------------------------


@routine
def sincos_degrees(angle):
    """Sine and cosine of an angle from -180 to 180 degrees, to about one unit in the last place.

    Taking off whole quarter turns is exact in degrees; the polynomials are fdlibm's, good for |rest| <= pi/4.
    """
    quarter = math.floor((angle + 45.0) / 90.0)
    r = (angle - 90.0 * quarter) * DEGREE
    z = r * r
    s = 8.33333333332248946124e-03 + z * (
        -1.98412698298579493134e-04
        + z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10))
    )
    s = r + z * r * (-1.66666666666666324348e-01 + z * s)
    c = -1.38888888888741095749e-03 + z * (
        2.48015872894767294178e-05
        + z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))
    )
    c = z * (4.16666666666666019037e-02 + z * c)
    half = 0.5 * z
    whole = 1.0 - half
    c = whole + (((1.0 - whole) - half) + z * c)
    if quarter == 0.0:
        return s, c
    if quarter == 1.0:
        return c, -s
    if quarter == -1.0:
        return -c, s
    return -s, -c


@helper
def embed(world, x, y):
    """A point in three coordinates: the plane's rectangle moved to the origin, or a point of the sphere."""
    if world.radius > 0.0:
        sin_lon, cos_lon = sincos_degrees(x)
        sin_lat, cos_lat = sincos_degrees(y)
        ring = world.radius * cos_lat
        ex = ring * cos_lon
        ey = ring * sin_lon
        ez = world.radius * sin_lat
    else:
        ex = x - world.xmin
        ey = y - world.ymin
        ez = 0.0
    return ex, ey, ez


@kernel
def embed_points(world: World, x: F64, y: F64, out: F64) -> None:
    """Embed many points into `out[n, 3]`."""
    for i in range(x.size):
        out[i, 0], out[i, 1], out[i, 2] = embed(world, x[i], y[i])


@kernel
def similarities(world: World, a: F64, b: F64, out: F64) -> None:
    """SSim of embedded points, row by row."""
    for i in range(out.size):
        out[i] = spatial_similarity(world.radius, world.max_dist, a[i, 0], a[i, 1], a[i, 2], b[i, 0], b[i, 1], b[i, 2])


# --- Morton cells ----------------------------------------------------------------------------------------------------


@helper
def grid_edge(low, high, i):
    """The i-th of 65,537 grid lines; the same number for a line whatever the level of the cell that asks."""
    return high if i == MORTON_SIDE else min(low + (high - low) * (i / MORTON_SIDE), high)


@helper
def grid_index(low, high, value):
    """The grid column of a value: edge(i) <= value < edge(i + 1), the last column closed.

    The quotient may round across an edge, so the edges themselves decide: a point is always inside its cells.
    """
    i = min(MORTON_SIDE - 1, max(0, int((value - low) / (high - low) * MORTON_SIDE)))
    while i > 0 and value < grid_edge(low, high, i):
        i -= 1
    while i < MORTON_SIDE - 1 and value >= grid_edge(low, high, i + 1):
        i += 1
    return i


@helper
def spread_bits(i):
    """0b..dcba -> 0b..d0c0b0a of 16 bits."""
    i = (i | (i << 8)) & 0x00FF00FF
    i = (i | (i << 4)) & 0x0F0F0F0F
    i = (i | (i << 2)) & 0x33333333
    return (i | (i << 1)) & 0x55555555


@helper
def gather_bits(code):
    """The inverse of `spread_bits`: every second bit."""
    code = code & 0x55555555
    code = (code | (code >> 1)) & 0x33333333
    code = (code | (code >> 2)) & 0x0F0F0F0F
    code = (code | (code >> 4)) & 0x00FF00FF
    return (code | (code >> 8)) & 0x0000FFFF


@kernel
def morton_codes(world: World, x: F64, y: F64, out: NDArray[np.uint32]) -> None:
    """Morton code of each point: the bits of the column in the even places, of the row in the odd ones."""
    for i in range(x.size):
        column = grid_index(world.xmin, world.xmax, x[i])
        row = grid_index(world.ymin, world.ymax, y[i])
        out[i] = spread_bits(column) | (spread_bits(row) << 1)


@kernel
def cell_rect(world: World, prefix: int, level: int) -> tuple[float, float, float, float]:
    """The rectangle of a quadtree cell: the points whose code starts with these 2 * level bits (level 0: the world)."""
    shift = MORTON_BITS - level
    code = np.int64(prefix)
    column = gather_bits(code)
    row = gather_bits(code >> 1)
    return (
        grid_edge(world.xmin, world.xmax, column << shift),
        grid_edge(world.ymin, world.ymax, row << shift),
        grid_edge(world.xmin, world.xmax, (column + 1) << shift),
        grid_edge(world.ymin, world.ymax, (row + 1) << shift),
    )


# --- boxes -----------------------------------------------------------------------------------------------------------


@helper
def box_chord(px, py, pz, x0, y0, z0, x1, y1, z1):
    """The straight distance from an embedded point to a box: at most that to any point in it. float32 stays float32."""
    dx = max(x0 - px, px - x1)
    dy = max(y0 - py, py - y1)
    dz = max(z0 - pz, pz - z1)
    dx = dx if dx > 0 else dx - dx  # 0 of the same type: a literal would widen float32
    dy = dy if dy > 0 else dy - dy
    dz = dz if dz > 0 else dz - dz
    return math.sqrt(dx * dx + dy * dy + dz * dz)


@kernel
def patch_box(
    world: World, x0: float, y0: float, x1: float, y1: float
) -> tuple[float, float, float, float, float, float]:
    """The box (x0, y0, z0, x1, y1, z1) that holds every embedded point of a rectangle.

    On the sphere a coordinate is a product of factors whose ranges over the rectangle are known: extremes are at
    corners, on the equator, or where the longitude crosses a multiple of 90. Points and box both rounded to float32
    still fit, as rounding keeps order.
    """
    if world.radius == 0.0:
        return x0 - world.xmin, y0 - world.ymin, 0.0, x1 - world.xmin, y1 - world.ymin, 0.0
    west_sin, west_cos = sincos_degrees(x0)
    east_sin, east_cos = sincos_degrees(x1)
    south_sin, south_cos = sincos_degrees(y0)
    north_sin, north_cos = sincos_degrees(y1)
    cos_high = 1.0 if x0 <= 0.0 <= x1 else max(west_cos, east_cos)
    cos_low = min(west_cos, east_cos)  # -1 only at 180, which can only be an end
    sin_high = 1.0 if x0 <= 90.0 <= x1 else max(west_sin, east_sin)
    sin_low = -1.0 if x0 <= -90.0 <= x1 else min(west_sin, east_sin)
    wide = 1.0 if y0 <= 0.0 <= y1 else max(south_cos, north_cos)  # the rectangle's largest and smallest ring
    narrow = min(south_cos, north_cos)
    pad = world.radius * PAD
    return (
        world.radius * min(wide * cos_low, narrow * cos_low) - pad,
        world.radius * min(wide * sin_low, narrow * sin_low) - pad,
        world.radius * south_sin - pad,
        world.radius * max(wide * cos_high, narrow * cos_high) + pad,
        world.radius * max(wide * sin_high, narrow * sin_high) + pad,
        world.radius * north_sin + pad,
    )


# --- distances to rectangles -----------------------------------------------------------------------------------------


@routine
def point_angle(lat, turn, other):
    """The angle in radians between two points `turn` degrees of longitude apart (haversine: exact when near)."""
    up, _ = sincos_degrees(0.5 * (lat - other))
    across, _ = sincos_degrees(0.5 * turn)
    _, cos_lat = sincos_degrees(lat)
    _, cos_other = sincos_degrees(other)
    return 2.0 * math.asin(min(1.0, math.sqrt(up * up + cos_lat * cos_other * across * across)))


@routine
def meridian_angle(lat, turn, south, north):
    """The angle in radians from a point to a piece of the meridian `turn` degrees of longitude away (0 to 180).

    Along a meridian the distance falls up to the foot of the perpendicular and rises after it, so the nearest place is
    the foot or an end. Beyond a quarter turn the foot is on the other half of the great circle.
    """
    sin_lat, cos_lat = sincos_degrees(lat)
    sin_turn, cos_turn = sincos_degrees(turn)
    if turn < 90.0:
        foot = math.atan2(sin_lat, cos_lat * cos_turn) / DEGREE
        if south <= foot <= north:
            return math.asin(min(1.0, cos_lat * sin_turn))
    return min(point_angle(lat, turn, south), point_angle(lat, turn, north))


@routine
def rect_distance(world, x, y, x0, y0, x1, y1):
    """mindist(m, c.r) of Definition 7: from a point to the nearest of a rectangle, 0 inside. Exact in both spaces."""
    dy = max(0.0, max(y0 - y, y - y1))
    if world.radius == 0.0:
        dx = max(0.0, max(x0 - x, x - x1))
        return math.sqrt(dx * dx + dy * dy)
    west = x0 - x  # how far to turn east to reach the west edge, and west to reach the east edge
    east = x - x1
    if west <= 0.0 and east <= 0.0:
        return world.radius * DEGREE * dy
    turn = min(west if west >= 0.0 else west + 360.0, east if east >= 0.0 else east + 360.0)
    if turn == 0.0:  # lon 180 beside a rectangle that starts at -180, or the reverse
        return world.radius * DEGREE * dy
    return world.radius * meridian_angle(y, turn, y0, y1)


@routine
def boundary_distance(world, x, y, x0, y0, x1, y1):
    """mindist(s, c.r) of Definition 6: from a point inside a rectangle to its nearest boundary. Exact in both spaces.

    An edge behind which nothing can be does not count: the plane's border, a pole, the side edges of a rectangle right
    round the earth. lon 180 counts, the world goes on behind it. The whole world's rectangle gives infinity.
    """
    nearest = math.inf
    if y0 > world.ymin:
        nearest = min(nearest, y - y0)
    if y1 < world.ymax:
        nearest = min(nearest, y1 - y)
    if world.radius == 0.0:
        if x0 > world.xmin:
            nearest = min(nearest, x - x0)
        if x1 < world.xmax:
            nearest = min(nearest, x1 - x)
    else:
        nearest *= world.radius * DEGREE
        if x1 - x0 < 360.0:
            # of the two edges the one fewer degrees away is nearer, at every latitude
            turn = max(0.0, min(x - x0, x1 - x))
            nearest = min(nearest, world.radius * meridian_angle(y, turn, y0, y1))
    return max(0.0, nearest)


# --- the paper's three spatial bounds --------------------------------------------------------------------------------


@helper
def inner_bound(max_dist, inner):
    """Definition 6: at least SSim of a subscription `inner` from its cell's boundary and a message outside."""
    return min(1.0, max(0.0, 1.0 - inner / max_dist) + ROUNDING)


@helper
def outer_bound(max_dist, outer):
    """Definition 7: at least SSim of a message `outer` from a cell and any subscription in the cell."""
    return min(1.0, max(0.0, 1.0 - outer / max_dist) + ROUNDING)


@helper
def combined_bound(max_dist, inner, outer):
    """Definition 8: both at once, as the way from s to m leaves the cell somewhere; 1 if m is in it (outer 0)."""
    return min(1.0, max(0.0, 1.0 - (inner + outer) / max_dist) + ROUNDING) if outer > 0.0 else 1.0
