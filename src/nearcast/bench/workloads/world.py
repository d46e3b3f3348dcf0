"""The world that messages of one recipe are drawn from: its cities, their own words, its topics.

It depends on the recipe alone, never on the seed: two seeds are two streams of the same world, so that subscriptions
and a vocabulary made with one fit the messages of the other.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.bench.workloads.recipe import USA, Recipe

TOPIC_WORDS = 40
_TOPIC_RANKS = (50, 50_000)


class World(NamedTuple):
    """Plain arrays and numbers, as the kernels take them."""

    key: np.uint64
    """Hashed with a venue's number, the seed of that venue."""
    box: NDArray[np.float64]
    """xmin, ymin, xmax, ymax."""
    city_x: NDArray[np.float64]
    city_y: NDArray[np.float64]
    city_spread: NDArray[np.float64]
    """Standard deviation of places around the city's centre, in degrees."""
    city_upto: NDArray[np.float64]
    """Cumulative population, the last is 1."""
    local_from: NDArray[np.int64]
    """City c owns the words local_from[c] .. local_from[c + 1]; before local_from[0] are the words of everywhere."""
    topic_words: NDArray[np.int32]
    """One row a topic: some words of everywhere, which then occur together."""

    log_mean: float
    log_spread: float
    max_words: int
    global_words: int
    exponent: float
    shift: float
    local_share: float
    topic_messages: float
    topic_share: float
    background: float
    venues: int

    @property
    def words(self) -> int:
        """How many words can occur at all."""
        return int(self.local_from[-1])


def build(recipe: Recipe) -> World:
    """The world of a recipe."""
    rng = np.random.default_rng(zlib.crc32(recipe.name.encode()))
    population = np.arange(1, recipe.cities + 1, dtype=np.float64) ** -recipe.city_exponent
    own = np.maximum(20, recipe.local_words * (population / population[0]) ** recipe.local_growth).astype(np.int64)
    x, y = _city_centres(rng, recipe.cities)
    low, high = (np.log(min(rank, recipe.global_words)) for rank in _TOPIC_RANKS)
    upto = np.cumsum(population / population.sum())
    upto[-1] = 1.0
    return World(
        key=rng.integers(0, 2**64, dtype=np.uint64),
        box=np.array(USA),
        city_x=x,
        city_y=y,
        city_spread=0.03 + 0.25 * np.sqrt(population / population[0]),
        city_upto=upto,
        local_from=recipe.global_words + np.concatenate([[0], np.cumsum(own)]),
        topic_words=np.exp(rng.uniform(low, high, (recipe.topics, TOPIC_WORDS))).astype(np.int32),
        log_mean=recipe.log_mean,
        log_spread=recipe.log_spread,
        max_words=recipe.max_words,
        global_words=recipe.global_words,
        exponent=recipe.exponent,
        shift=recipe.shift,
        local_share=recipe.local_share,
        topic_messages=recipe.topic_messages,
        topic_share=recipe.topic_share,
        background=recipe.background,
        venues=recipe.venues,
    )


def _city_centres(rng: np.random.Generator, cities: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The large cities anywhere; of the others, most near a larger one, so that there are crowded regions."""
    xmin, ymin, xmax, ymax = USA
    x = rng.uniform(xmin, xmax, cities)
    y = rng.uniform(ymin, ymax, cities)
    for city in range(min(10, cities), cities):
        if rng.random() < 0.6:
            centre = rng.integers(0, city // 4 + 1)
            x[city] = np.clip(x[centre] + rng.normal(0.0, 1.2), xmin, xmax)
            y[city] = np.clip(y[centre] + rng.normal(0.0, 1.2), ymin, ymax)
    return x, y
