"""The generated workloads: TWEETS, GN and YELP look-alikes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearcast.bench.workloads import sampling, words, world
from nearcast.bench.workloads.documents import Documents
from nearcast.bench.workloads.recipe import USA, Recipe
from nearcast.bench.workloads.workload import CHUNK, Workload, stream_key


class Synthetic(Workload):
    """A stream of a recipe's world. Any part of it can be had at any time: nothing is kept."""

    def __init__(self, recipe: Recipe, messages: int, seed: int, rate: float | None, bursts: float) -> None:
        super().__init__(recipe.name, messages, seed, rate, bursts)
        self.recipe = recipe
        self.world = world.build(recipe)
        self.box = USA

    def batch(self, first: int, count: int) -> pa.Table:
        drawn = self.documents(first, count)
        return pa.table(
            {
                "text": words.texts(drawn.offsets, drawn.words),
                "x": drawn.x,
                "y": drawn.y,
                "time": self.synthetic_times(first, count),
            }
        )

    def documents(self, first: int, count: int) -> Documents:
        return self._draw(stream_key(self.seed, "message"), first, count)

    def sources(self, count: int, seed: int) -> Iterator[Documents]:
        """Messages of a second stream of the same world."""
        first, size = 0, min(CHUNK, count)
        while True:
            yield self._draw(stream_key(seed, "source"), first, size)
            first += size

    def spell(self, words_: NDArray[np.int32]) -> pa.StringArray:
        return words.spelled(words_)

    def _draw(self, key: np.uint64, first: int, count: int) -> Documents:
        lengths = np.empty(count, np.int64)
        x, y, city = np.empty(count), np.empty(count), np.empty(count, np.int64)
        offsets = np.empty(count + 1, np.int64)
        with np.errstate(over="ignore"):  # hashes wrap around, which NumPy reports where kernels are not compiled
            sampling.draw_lengths(self.world, key, first, lengths)
            sampling.draw_places(self.world, key, first, x, y, city)
            drawn = np.empty(sampling.room_for(lengths), np.int32)
            used = sampling.draw_words(self.world, key, first, lengths, city, offsets, drawn)
        return Documents(offsets, drawn[:used], x, y)
