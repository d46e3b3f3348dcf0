"""The world that messages of one recipe are drawn from: its cities, their own words, its topics.

It depends on the recipe alone, never on the seed: two seeds are two streams of the same world, so that subscriptions
and a vocabulary made with one fit the messages of the other.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from nearcast.bench.workloads.recipe import USA, Recipe
from nearcast.bench.workloads.sampling import World

TOPIC_WORDS = 40
_TOPIC_RANKS = (50, 50_000)


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
