"""A posting in 16 bytes, rounded so that every bound stays a bound.

Most of a message's time goes into fetching postings from memory, so they are short: what a message must bring is
rounded down, what a subscription may bring is rounded up, and a place is a point of a grid of 65,536 lines over the
whole space, with its rounding taken off every distance.
"""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.jit import helper
from nearcast.kernels.layout import (
    BLOCK_BYTES,
    H_NEED,
    H_X,
    O_LATER,
    Q_FAR,
    Q_LATER,
    Q_REST,
    Q_TASTE,
)

LINES = 65535
"""Grid lines but one: the highest code of a coordinate."""

GRID_ERROR = np.float32(0.9)
"""How much too long a distance between a grid point and a message can be, in grid steps: half a step an axis for the
rounding of the point, sqrt(3)/2 in all, and 0.03 for float32 (the message's own coordinates, differences, root)."""

SHARE = 255.0
"""Codes of what lies in [0, 1]: taste and rest rounded up, alpha rounded down."""
ONE_SHARE = np.float32(1.0 / SHARE)

NEEDS = 16384.0
"""Codes of a need, theta - alpha in [-1, 1], per unit."""
ONE_NEED = np.float32(1.0 / NEEDS)

DEAD = np.uint16(65535)
"""The need of a posting that is gone: about 3, which nothing meets."""

VALUES = 8
"""What a posting stands for: K_TASTE, K_REST, K_NEED, K_FAR, its grid point from K_BOX on, how many later keywords."""

ONE = np.float32(1.0)


@helper
def grid_step(world):
    """The distance between two grid lines, the same along each axis."""
    if world.radius > 0.0:
        return 2.0 * world.radius / LINES
    return max(world.xmax - world.xmin, world.ymax - world.ymin) / LINES


@helper
def on_grid(world, coordinate):
    """An embedded coordinate in grid steps, not rounded."""
    return (coordinate + world.radius) / grid_step(world)  # a plane's coordinates start at 0, a sphere's at -radius


@helper
def share_up(value):
    """The code of a value in [0, 1], rounded up."""
    return np.uint8(min(SHARE, math.ceil(np.float64(value) * SHARE)))


@helper
def share_down(value):
    """The code of a value in [0, 1], rounded down."""
    return np.uint8(min(SHARE, math.floor(np.float64(value) * SHARE)))


@helper
def need_code(theta, alpha):
    """The code of a need, rounded down."""
    need = (np.float64(theta) - np.float64(alpha) + 1.0) * NEEDS
    return np.uint16(min(60000.0, max(0.0, math.floor(need))))


@helper
def share(code):
    """What a code of `share_up` or `share_down` stands for."""
    return np.float32(code) * ONE_SHARE


@helper
def need_of(code):
    """What a need's code stands for, exactly."""
    return np.float32(code) * ONE_NEED - ONE


@helper
def write_posting(postings, world, at, point, taste, rest, theta, alpha, prints, after):
    """Write all that the first test reads of a posting; `after` is how many later keywords there are."""
    p = postings
    block, lane = at >> 5, at & 31
    p.eights[block, Q_TASTE + lane] = share_up(taste)
    p.eights[block, Q_REST + lane] = share_up(rest)
    p.eights[block, Q_FAR + lane] = share_down(alpha)
    p.halves[block, H_NEED + lane] = need_code(theta, alpha)
    for c in range(3):
        line = math.floor(on_grid(world, point[c]) + 0.5)
        p.halves[block, H_X + 32 * c + lane] = np.uint16(min(np.float64(LINES), max(0.0, line)))
    p.eights[block, Q_LATER + lane] = np.uint8(min(after, 255))
    p.words[block, O_LATER + lane] = prints


@helper
def copy_compact(eights, halves, words, source, to_eights, to_halves, to_words, target):
    """Copy all that `write_posting` writes, from one table of blocks to another, or within one."""
    a, i = source >> 5, source & 31
    b, j = target >> 5, target & 31
    to_words[b, O_LATER + j] = words[a, O_LATER + i]
    for row in range(H_NEED, H_X + 96, 32):
        to_halves[b, row + j] = halves[a, row + i]
    for row in range(Q_TASTE, BLOCK_BYTES, 32):
        to_eights[b, row + j] = eights[a, row + i]


@helper
def is_dead(postings, at):
    """Whether a posting has been removed."""
    return postings.halves[at >> 5, H_NEED + (at & 31)] == DEAD


@helper
def values_of(postings, at, values):
    """What a posting stands for, see VALUES."""
    p = postings
    block, lane = at >> 5, at & 31
    values[0] = share(p.eights[block, Q_TASTE + lane])
    values[1] = share(p.eights[block, Q_REST + lane])
    values[2] = need_of(p.halves[block, H_NEED + lane])
    values[3] = share(p.eights[block, Q_FAR + lane])
    for c in range(3):
        values[4 + c] = np.float32(p.halves[block, H_X + 32 * c + lane])
    values[VALUES - 1] = np.float32(p.eights[block, Q_LATER + lane])
