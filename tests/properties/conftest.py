"""Counts the random operations of the run, and says how many there were."""

import pytest

COUNTED = {"operations": 0, "worlds": 0}


@pytest.fixture
def counted():
    return COUNTED


def pytest_terminal_summary(terminalreporter):
    if COUNTED["worlds"]:
        terminalreporter.write_line(
            f"random streams: {COUNTED['operations']} operations in {COUNTED['worlds']} worlds, "
            "each operation compared with the reference"
        )
