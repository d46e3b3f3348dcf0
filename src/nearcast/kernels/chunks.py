"""Handing out chunks of an arena by size class, with free lists kept inside the free chunks themselves."""

from __future__ import annotations

import numpy as np

from nearcast.kernels.jit import helper


@helper
def power_class(size):
    """The smallest c with 2**c >= size."""
    c = 0
    while (1 << c) < size:
        c += 1
    return c


@helper
def buffer_class(entries):
    """Size class of a buffer: four steps per doubling of its capacity, in units of 8 entries."""
    units = (entries + 7) >> 3
    e = 0
    while (8 << e) < units:
        e += 1
    unit = 1 << e
    return 4 * e + (units + unit - 1) // unit


@helper
def buffer_capacity(size_class):
    """Entries that a buffer of this class holds."""
    if size_class <= 8:
        return 8 * size_class
    e = (size_class - 5) // 4
    return 8 * ((size_class - 4 * e) << e)


@helper
def give_chunk(free, kind, size_class, links, stride, offset, at):
    """Put a chunk on the free list of its class."""
    links[at * stride + offset] = free[kind, size_class]
    free[kind, size_class] = np.uint32(at + 1)


@helper
def take_chunk(free, kind, size_class, links, stride, offset, control, used, size, align):
    """A free chunk of this class, or a new one at the end of what is used. `links` holds the free lists' pointers.

    Where chunks are aligned their classes are powers of two, and what alignment skips becomes free chunks.
    """
    head = np.int64(free[kind, size_class])
    if head != 0:
        at = head - 1
        free[kind, size_class] = links[at * stride + offset]
        return at
    at = (control[used] + align - 1) // align * align
    gap = control[used]
    while gap < at:
        c = 0
        while gap & ((2 << c) - 1) == 0 and gap + (2 << c) <= at:
            c += 1
        give_chunk(free, kind, c, links, stride, offset, gap)
        gap += 1 << c
    control[used] = at + size
    return at
