"""How every kernel is compiled: one place, so that the three test lanes and the cache agree.

`kernel` marks an entry that Python calls: compiled once, cached on disk, GIL released. `helper` marks a small function
that kernels call: inlined, because a call with array arguments costs 200-400 ns. No fast-math anywhere: a bound or a
score may not depend on how the compiler felt. `NUMBA_DISABLE_JIT=1` leaves plain Python, `NUMBA_BOUNDSCHECK=1` checks
every index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile an entry kernel: cached, without the GIL, divisions without Python's checks."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=True)(function)  # type: ignore[no-any-return]


def hot_kernel(function: F) -> F:
    """A kernel without reference counts: it may not make arrays, only use those it is given.

    Numba counts references to every array of a tuple at every use, with locked instructions; they took more than half
    of the engine's time, and two threads would fight for them.
    """
    return numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)  # type: ignore[no-any-return]


def hot_routine(function: F) -> F:
    """A routine (see `routine`) without reference counts (see `hot_kernel`)."""
    return numba.njit(nogil=True, error_model="numpy", _nrt=False)(function)  # type: ignore[no-any-return]


def helper(function: F) -> F:
    """Compile a helper that is always inlined into the kernel that calls it."""
    return numba.njit(inline="always", error_model="numpy")(function)  # type: ignore[no-any-return]


def routine(function: F) -> F:
    """Compile a larger helper that stays a call of its own, so that it is compiled once per module."""
    return numba.njit(nogil=True, error_model="numpy", _nrt=True)(function)  # type: ignore[no-any-return]
