"""How much memory an engine takes: what the system says, and what the engine's structures add up to."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from nearcast.engine import Engine
from nearcast.frontend import Frontend


def resident() -> int:
    """Bytes of memory that this process holds, after what is free has been given back as far as possible."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(AttributeError, OSError):  # only the GNU library has it
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):  # only Linux has it
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    done = subprocess.run(["ps", "-o", "rss=", "-p", str(os.getpid())], capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024


def accounted(engine: Engine) -> dict[str, int]:
    """Bytes by structure: the kernels' arrays as the engine counts them, Python's objects by their sizes."""
    counters = engine.stats().counters
    return {
        "subscriptions": int(counters["bytes_subscriptions"]),
        "window": int(counters["bytes_window"]),
        "registry": _registry(engine),
        "envelopes": _envelopes(engine),
        "vocabulary": _vocabulary(engine),
    }


def _registry(engine: Frontend) -> int:
    """Ids, the dictionary that finds them, rows, and the numbers that the dictionary holds."""
    registry = engine._registry
    containers = sys.getsizeof(registry._slots) + sys.getsizeof(registry._ids)
    objects = sum(sys.getsizeof(id) for id in registry._slots) + 32 * len(registry._slots)
    return containers + objects + sum(page.nbytes for page in registry._pages) + 12 * len(registry._ids)


def _envelopes(engine: Frontend) -> int:
    """Time and place of each message; this load has neither ids nor payloads."""
    return 24 * len(engine._log)


def _vocabulary(engine: Frontend) -> int:
    """Words, the dictionary that finds them, frequencies, and the forms that are remembered."""
    v = engine.vocabulary
    tables = (v._words, v._ids, v._forms, v._keywords)
    objects = sum(sys.getsizeof(word) + 32 for word in v._words)
    memos = sum(sys.getsizeof(form) for memo in (v._forms, v._keywords) for form in memo)
    return sum(map(sys.getsizeof, tables)) + objects + memos + v._frequencies.nbytes
