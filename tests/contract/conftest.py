"""The same tests for every implementation."""

import pytest

from nearcast.model import last
from nearcast.space import plane
from support.implementations import IMPLEMENTATIONS


@pytest.fixture(params=IMPLEMENTATIONS, ids=lambda implementation: implementation.__name__)
def implementation(request):
    return request.param


@pytest.fixture
def make(implementation):
    """Make an engine; by default the ten newest messages on a plane whose MaxDist is 5."""

    def factory(window=None, space=None, vocabulary=None, **settings):
        return implementation(window or last(10), space or plane(0, 0, 3, 4), vocabulary, **settings)

    return factory
