"""After every micro-batch all lists of the topology are the reference's, and its changes are what differs."""

import pytest

from support.distribution import SETTINGS
from support.topology import Life

EACH = pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)


@EACH
def test_lists_after_every_batch(rng, name, settings):
    compared = guests = requests = 0
    for _ in range(12):
        life = Life(rng, name, settings, every=3)
        for _ in range(25):
            life.step()
        compared += life.compared
        guests += sum(sum(report.held) - sum(report.homes) for report in life.reports)
        requests += sum(report.requests for report in life.reports)
    assert compared > 1000 and requests > 0
    assert (guests > 0) == (name not in ("hashing", "location"))


@EACH
def test_lists_of_a_crowd(rng, name, settings):
    """Hundreds of subscriptions to a handful of words: lists of postings long enough to be packed."""
    life = Life(rng, name, settings, partitions=3, crowded=True, every=6)
    for _ in range(12):
        life.step()
    assert life.compared > 500


@pytest.mark.lanes
@pytest.mark.parametrize("name", ["hashing", "prefix"])
def test_a_short_life(rng, name):
    for _ in range(2):
        life = Life(rng, name, {}, partitions=3, keepers=2)
        for _ in range(6):
            life.step()
