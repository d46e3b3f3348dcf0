"""Synthetic arrival times, steady or in bursts. Message i's time depends on i and the stream's key alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearcast.bench.workloads.sampling import uniform
from nearcast.errors import InvalidInput
from nearcast.kernels.jit import kernel

START = 1_700_000_000_000
"""Time of the first message, in milliseconds since the epoch."""

CYCLE_MS = 60_000.0
"""With bursts, each minute has one."""


@kernel
def _draw_times(key: np.uint64, first: int, gap: float, bursts: float, start: int, out: NDArray[np.int64]) -> None:
    for i in range(out.size):
        steady = (first + i + uniform(key, first + i)) * gap
        cycle = np.floor(steady / CYCLE_MS)
        part = steady / CYCLE_MS - cycle
        # Half of a cycle's messages fall into one stretch of it, `bursts` times faster than on average; the stretch
        # begins after a random part of the other half. Piecewise linear and rising, so times stay in order.
        begin = 0.5 * uniform(key ^ np.uint64(0xB0257), np.int64(cycle))
        slow = 2.0 - 1.0 / bursts
        warped = min(part, begin) * slow
        warped += min(max(part - begin, 0.0), 0.5) / bursts
        warped += max(part - begin - 0.5, 0.0) * slow
        out[i] = start + np.int64((cycle + warped) * CYCLE_MS)


def arrival_times(
    key: np.uint64, first: int, count: int, rate: float = 1000.0, bursts: float = 1.0, start: int = START
) -> NDArray[np.int64]:
    """Times in milliseconds of the messages first, first + 1, …, never descending, `rate` a second on average.

    `bursts` = b > 1: half of the messages of each minute arrive at b times the mean rate.
    """
    if not rate > 0:
        raise InvalidInput("rate", f"takes messages per second, more than 0, not {rate!r}")
    if not bursts >= 1:
        raise InvalidInput("bursts", f"takes a factor of at least 1, not {bursts!r}")
    out = np.empty(count, np.int64)
    with np.errstate(over="ignore"):  # hashes wrap around; NumPy's scalars would warn where the kernel is not compiled
        _draw_times(key, first, 1000.0 / rate, bursts, start, out)
    return out
