"""Sorting in place without making an array: what hot kernels can call."""

from __future__ import annotations

from nearcast.kernels.jit import hot_routine


@hot_routine
def sort_order(keys, order, count):
    """Fill `order` with the order of keys[:count], ascending: shell sort, as a rule of some dozens."""
    for i in range(count):
        order[i] = i
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            own = order[i]
            key = keys[own]
            j = i
            while j >= gap and keys[order[j - gap]] > key:
                order[j] = order[j - gap]
                j -= gap
            order[j] = own
        gap //= 3
