"""Arrays that grow without ever being copied.

An `Arena` reserves address space for as many elements as the machine's memory could hold, once. The operating system
hands out zeroed pages as they are first written, so growing costs nothing but those page faults: no doubling, no copy,
no stall, and no address that a running kernel holds ever moves.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

PAGE = mmap.PAGESIZE
SMALL_BYTES = 4 << 20
"""This much of an arena stays on small pages: most arenas of a small engine never grow past it."""

LEAST_BYTES = 64 << 20
"""Where reservations are refused, sizes are halved down to this before giving up."""

# Python names this flag from 3.13 on only. It keeps a reservation out of the system's account of promised memory.
NORESERVE: int = getattr(mmap, "MAP_NORESERVE", 0x40 if sys.platform == "darwin" else 0x4000)
FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
HUGE_PAGES: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
ON_LINUX = sys.platform == "linux"


def physical_bytes() -> int:
    """The machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


PHYSICAL_BYTES = physical_bytes()


class Arena:
    """One typed array of `capacity` elements, zero at first, that takes memory only where it was written."""

    __slots__ = ("_array", "_map", "capacity", "dtype")

    def __init__(self, dtype: DTypeLike, capacity: int | None = None, *, limit: int | None = None) -> None:
        """Reserve `capacity` elements, by default as many as the machine's memory holds, and never more than `limit`.

        Where so much address space is not to be had, `capacity` ends up smaller: a half, a quarter, … of it.
        """
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        if self.dtype.hasobject or self.dtype.itemsize == 0:
            raise TypeError(f"an arena holds plain numbers, not {self.dtype}")
        wanted = PHYSICAL_BYTES // self.dtype.itemsize if capacity is None else capacity
        wanted = wanted if limit is None else min(wanted, limit)
        if wanted < 1:
            raise ValueError(f"an arena holds at least one element, not {wanted}")
        self._map, size = _reserve(wanted * self.dtype.itemsize)
        self.capacity = min(wanted, size // self.dtype.itemsize)
        self._array: NDArray[Any] | None = np.frombuffer(self._map, self.dtype, self.capacity)

    @property
    def array(self) -> NDArray[Any]:
        """The whole array, over the arena's own memory: writable, C-contiguous, always the same object."""
        if self._array is None:
            raise ValueError("the arena is closed")
        return self._array

    def view(self, dtype: DTypeLike) -> NDArray[Any]:
        """The same memory as elements of another type."""
        other = np.dtype(dtype)
        return np.frombuffer(self._map, other, self.array.nbytes // other.itemsize)

    def release(self, first: int, last: int) -> int:
        """Give back the whole pages within elements first..last-1, which then read as zero; the bytes given.

        The ragged ends, less than a page each, keep memory and contents.
        """
        if not 0 <= first <= last <= self.capacity:
            raise IndexError(f"elements {first} to {last} of an arena of {self.capacity}")
        start = -(-first * self.dtype.itemsize // PAGE) * PAGE
        size = last * self.dtype.itemsize // PAGE * PAGE - start
        if self._array is None or size <= 0:
            return 0
        _give_back(self._map, start, size)
        return size

    def bytes_of(self, used: int) -> int:
        """The memory that the first `used` elements take, in whole small pages."""
        return -(-min(used, self.capacity) * self.dtype.itemsize // PAGE) * PAGE

    def close(self) -> None:
        """Give all memory back now. Arrays that are still held elsewhere stay valid and read as zero."""
        self._array = None
        try:
            self._map.close()
        except BufferError:  # somebody holds an array: the address space goes with it, the memory goes now
            _give_back(self._map, 0, len(self._map))

    def __enter__(self) -> Arena:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Arena({self.dtype.name}, capacity={self.capacity}{', closed' if self._array is None else ''})"


def _reserve(size: int) -> tuple[mmap.mmap, int]:
    """Address space of whole pages for `size` bytes, or for as large a part of it as the system grants."""
    wanted = -(-size // PAGE) * PAGE
    granted = wanted
    while True:
        try:
            area = mmap.mmap(-1, granted, FLAGS)
            break
        except (OSError, OverflowError) as error:
            if granted <= LEAST_BYTES:
                raise MemoryError(
                    f"could not reserve {granted >> 20} MiB of address space ({error}); look at `ulimit -v` and, on "
                    "Linux, at vm.overcommit_memory (2 forbids reservations) and vm.max_map_count"
                ) from None
            granted = max(LEAST_BYTES, granted // 2 // PAGE * PAGE)
    if HUGE_PAGES is not None and granted > SMALL_BYTES:
        with contextlib.suppress(OSError):  # a kernel without them: small pages do as well, only slower
            area.madvise(HUGE_PAGES, SMALL_BYTES, granted - SMALL_BYTES)
    return area, granted


def _give_back(area: mmap.mmap, start: int, size: int) -> None:
    """Drop pages so that they read as zero. Elsewhere than on Linux dropping is only advice: clear them first."""
    if ON_LINUX:
        area.madvise(mmap.MADV_DONTNEED, start, size)
    else:
        np.frombuffer(area, np.uint8, size, start).fill(0)
        area.madvise(mmap.MADV_FREE, start, size)
