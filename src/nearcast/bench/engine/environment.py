"""Where a run was made: machine, versions, commit, command line."""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa

import nearcast
from nearcast.memory import physical_bytes


def environment() -> dict[str, Any]:
    """Everything but the load, of JSON's types."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_bytes": physical_bytes(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "nearcast": nearcast.__version__,
        "numba": numba.__version__,
        "llvmlite": _version("llvmlite"),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "jit": not numba.config.DISABLE_JIT,
        "commit": _commit(),
        "command": shlex.join(sys.argv),
    }


def load() -> list[float]:
    """The system's load over 1, 5 and 15 minutes: who else was at work."""
    return [round(value, 2) for value in os.getloadavg()]


def _cpu() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    with contextlib.suppress(PackageNotFoundError):
        return version(package)
    return None


def _commit() -> str | None:
    """The commit, with a plus if files have changed since; None outside of a repository."""
    folder = Path(__file__).parent
    try:
        commit = _git(folder, "rev-parse", "--short=12", "HEAD")
        return commit + ("+" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()
