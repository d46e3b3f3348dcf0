"""One seed for everything random in the tests: in the header, and again beside each failure."""

import os
import platform
import secrets
import zlib

import hypothesis
import numba
import numpy as np
import pytest

from nearcast import kernels

DEFAULT_SEED = "20161001"


def _chosen_seed() -> int:
    given = os.environ.get("NEARCAST_SEED", DEFAULT_SEED)
    return secrets.randbelow(2**32) if given == "random" else int(given)


SEED = _chosen_seed()

hypothesis.settings.register_profile("ci", deadline=None, print_blob=True, derandomize=False, database=None)
hypothesis.settings.register_profile("lanes", hypothesis.settings.get_profile("ci"), max_examples=20)
hypothesis.settings.register_profile("thorough", hypothesis.settings.get_profile("ci"), max_examples=2000)
hypothesis.settings.load_profile("ci")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis starts from our seed, too, unless its own option names another."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_report_header(config: pytest.Config) -> list[str]:
    lane = "JIT with bounds checked" if numba.config.BOUNDSCHECK else "JIT"
    lane = "no JIT" if numba.config.DISABLE_JIT else lane
    return [
        f"seed: NEARCAST_SEED={SEED} (another one, or `random`, explores further)",
        f"lane: {lane}, numba {numba.__version__}, numpy {np.__version__}, {platform.machine()}",
        f"kernels: {kernels.CACHE_DIR or 'not compiled'}",
    ]


COUNTED = {"operations": 0, "worlds": 0}
"""Of the random streams: what this process has done, and in the end all workers together."""


@pytest.fixture
def counted() -> dict[str, int]:
    return COUNTED


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands over what it has counted."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["counted"] = COUNTED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """A worker is done."""
    for name, count in getattr(node, "workeroutput", {}).get("counted", {}).items():
        COUNTED[name] += count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many random operations there were."""
    if COUNTED["worlds"]:
        terminalreporter.write_line(
            f"random streams: {COUNTED['operations']} operations in {COUNTED['worlds']} worlds, "
            "each operation compared with the reference"
        )


@pytest.fixture
def seed() -> int:
    """The seed of this run; printed here so that a failure shows it."""
    print(f"NEARCAST_SEED={SEED}")
    return SEED


@pytest.fixture
def rng(seed: int, request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers of this test's own: the same whichever other tests run."""
    return np.random.default_rng([seed, zlib.crc32(request.node.nodeid.encode())])
