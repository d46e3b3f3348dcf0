"""Where compiled kernels are kept between processes.

Numba recompiles a function when the file that holds it changes, not when a function that it calls, in another file,
does: an edited helper leaves stale machine code behind. It does not look at NUMBA_BOUNDSCHECK either. So the directory
is keyed by everything that decides what is compiled: the source of all our kernels, the versions and the code-changing
settings. A user's own NUMBA_CACHE_DIR is left alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path

import llvmlite
import numba

PACKAGE = Path(__file__).parent.parent
FOLDERS = ("kernels", "baselines")
MARK = b"kernels.jit import"
"""Kernels stand in these folders, and in every module that says this. Constants that they use count as well."""

SETTINGS = ("BOUNDSCHECK", "OPT", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX")
"""The settings of Numba that change machine code and are not in its own key."""

PREFIX = "kernels-"
MAX_AGE_S = 30 * 24 * 3600


def choose() -> Path | None:
    """Point Numba at our directory, unless the user chose one; the directory in force, None if nothing is compiled.

    The variable alone is not enough: Numba has read it already. The setting alone is not, either: Numba reads the
    variables again whenever one of them has changed. What a parent process chose here for itself is chosen anew.
    """
    if numba.config.DISABLE_JIT:
        return None
    given = os.environ.get("NUMBA_CACHE_DIR", "")
    if given and not _is_ours(Path(given)):
        return Path(given)
    name = PREFIX + key(PACKAGE)
    path = next((path for root in _roots() if (path := _usable(root / name))), None) or _temporary(name)
    os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = str(path)
    return path


def key(package: Path) -> str:
    """A hash of all that decides what the kernels of this package compile to."""
    digest = hashlib.sha256()
    settings = [f"{name}={getattr(numba.config, name, None)}" for name in SETTINGS]
    digest.update(repr((numba.__version__, llvmlite.__version__, sys.version, settings)).encode())
    for source in sorted(package.rglob("*.py")):
        text = source.read_bytes()
        if MARK in text or source.parent.name in FOLDERS:
            digest.update(f"{source.relative_to(package)} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


def remove_old(root: Path, now: float) -> list[Path]:
    """Remove the directories of other keys that no process has opened for 30 days."""
    old = [path for path in root.glob(f"{PREFIX}*") if now - path.stat().st_mtime > MAX_AGE_S]
    for path in old:
        shutil.rmtree(path, ignore_errors=True)
    return old


def _roots() -> list[Path]:
    """The user's cache folder; a relative XDG_CACHE_HOME counts as unset, as its specification asks."""
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    base = xdg if xdg.is_absolute() else Path(os.path.expanduser("~")) / ".cache"  # noqa: PTH111 (must not raise)
    return [base / "nearcast"] if base.is_absolute() else []


def _usable(path: Path) -> Path | None:
    """The directory, made if needed and marked as in use today; None if we cannot write there.

    A cache holds code: one that another user owns, or that everybody may write to, is not used.
    """
    try:
        if not path.is_dir():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
            remove_old(path.parent, time.time())
        for folder in (path, path.parent):
            status = folder.stat()
            if status.st_uid != os.getuid() or status.st_mode & stat.S_IWOTH:
                return None
        os.utime(path)
    except OSError:
        return None
    return path if os.access(path, os.W_OK | os.X_OK) else None


def _temporary(name: str) -> Path:
    """A directory of this user for temporary files, or one of this process alone."""
    root = Path(tempfile.gettempdir()) / f"nearcast-{os.getuid()}"
    return _usable(root / name) or Path(tempfile.mkdtemp(prefix="nearcast-")) / name


def _is_ours(path: Path) -> bool:
    return path.name.startswith(PREFIX) and path.parent.name.startswith("nearcast")
