"""Sorting many 32-bit keys: three counting passes, some ten times faster than a comparison sort on long arrays."""

from __future__ import annotations

import numpy as np

from nearcast.kernels.jit import routine

BITS = 11


@routine
def radix_argsort(keys):
    """Order of uint32 keys, stable."""
    n = len(keys)
    order = np.arange(n)
    if n < 256:  # a histogram would cost more than the sort
        for i in range(1, n):
            j = i
            own = order[i]
            while j > 0 and keys[order[j - 1]] > keys[own]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = own
        return order
    other = np.empty(n, np.int64)
    for shift in range(0, 32, BITS):
        counts = np.zeros((1 << BITS) + 1, np.int64)
        for i in range(n):
            counts[((np.int64(keys[i]) >> shift) & ((1 << BITS) - 1)) + 1] += 1
        if counts[(np.int64(keys[0]) >> shift & ((1 << BITS) - 1)) + 1] == n:
            continue  # all keys have the same digit
        for digit in range(1, 1 << BITS):
            counts[digit] += counts[digit - 1]
        for i in range(n):
            digit = (np.int64(keys[order[i]]) >> shift) & ((1 << BITS) - 1)
            other[counts[digit]] = order[i]
            counts[digit] += 1
        order, other = other, order
    return order
