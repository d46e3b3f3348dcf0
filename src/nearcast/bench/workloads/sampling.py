"""Kernels that draw messages. Message i of a stream is a pure function of (world, the stream's key, i).

Random numbers are hashes of counters (SplitMix64), so any range of messages can be made at any time in any batch size
and comes out the same, without keeping what came before. Ranks are drawn by inverting a closed-form distribution: one
power instead of a cache-missing search in a table of a million words.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.kernels.jit import helper, kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


class World(NamedTuple):
    """What `world.build` makes of a recipe: plain arrays and numbers, as the kernels take them."""

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


@helper
def hashed(key: np.uint64, count: Any) -> np.uint64:
    """A random 64-bit number for each pair of a key and a count."""
    z = key + np.uint64(count) * _STEP
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@helper
def uniform(key: np.uint64, count: Any) -> float:
    """A random number in [0, 1) for each pair of a key and a count."""
    z = key + np.uint64(count) * _STEP
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    z = z ^ (z >> _S31)
    return np.float64(z >> _S11) * _UNIT


@helper
def zipf_rank(u: float, size: int) -> int:
    """Rank in [0, size): P(r) is as log((r + 2) / (r + 1)), so it falls as 1 / rank."""
    return min(size - 1, int(math.exp(u * math.log(size + 1.0))) - 1)


@helper
def mandelbrot_rank(u: float, size: int, exponent: float, shift: float) -> int:
    """Rank in [0, size): P(r) is the integral of (x + shift) ** -exponent over [r, r + 1)."""
    tail = 1.0 - exponent
    low = shift**tail
    high = (size + shift) ** tail
    return min(size - 1, int((low - u * (low - high)) ** (1.0 / tail) - shift))


@helper
def into(value: float, low: float, high: float) -> float:
    """Reflect a value that left [low, high] back into it (clipped if it left by more than the width)."""
    if value < low:
        value = 2.0 * low - value
    elif value > high:
        value = 2.0 * high - value
    return min(high, max(low, value))


# Of a message's key, counts 0-7 are for its frame (length, place, topic); its words draw from 8 on.


@kernel
def draw_lengths(world: World, key: np.uint64, first: int, lengths: NDArray[np.int64]) -> None:
    """How many distinct words each of the messages first, first + 1, … has."""
    for i in range(lengths.size):
        own = hashed(key, first + i)
        u = 1.0 - uniform(own, 0)
        normal = math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * uniform(own, 1))
        words = math.exp(world.log_mean + world.log_spread * normal)
        lengths[i] = min(world.max_words, max(1, int(words + 0.5)))


@kernel
def draw_places(
    world: World, key: np.uint64, first: int, x: NDArray[np.float64], y: NDArray[np.float64], city: NDArray[np.int64]
) -> None:
    """Where each message is, and in which city (-1: in none)."""
    xmin, ymin, xmax, ymax = world.box[0], world.box[1], world.box[2], world.box[3]
    for i in range(x.size):
        place = hashed(key, first + i)
        if world.venues > 0:
            u = uniform(place, 2)
            place = hashed(world.key, int(world.venues * u * u))  # squared: a few venues have thousands of messages
        if uniform(place, 3) < world.background:
            x[i] = xmin + (xmax - xmin) * uniform(place, 4)
            y[i] = ymin + (ymax - ymin) * uniform(place, 5)
            city[i] = -1
            continue
        c = np.searchsorted(world.city_upto, uniform(place, 6), side="right")
        radius = world.city_spread[c] * math.sqrt(-2.0 * math.log(1.0 - uniform(place, 4)))
        angle = 2.0 * math.pi * uniform(place, 5)
        x[i] = into(world.city_x[c] + radius * math.cos(angle), xmin, xmax)
        y[i] = into(world.city_y[c] + radius * math.sin(angle), ymin, ymax)
        city[i] = c


@kernel
def draw_words(
    world: World,
    key: np.uint64,
    first: int,
    lengths: NDArray[np.int64],
    city: NDArray[np.int64],
    offsets: NDArray[np.int64],
    words: NDArray[np.int32],
) -> int:
    """Draw words of each message until it has `lengths` distinct ones; a word drawn again stays, repeated."""
    topics, topic_words = world.topic_words.shape
    at = 0
    offsets[0] = 0
    for i in range(lengths.size):
        own = hashed(key, first + i)
        topic = -1
        u = uniform(own, 7)
        if u < world.topic_messages:
            topic = zipf_rank(u / world.topic_messages, topics)
        begin = at
        most = begin + 2 * lengths[i] + 8
        distinct = 0
        draw = 8
        while distinct < lengths[i] and at < most:
            source = uniform(own, draw)
            u = uniform(own, draw + 1)
            draw += 2
            if city[i] >= 0 and source < world.local_share:
                base = world.local_from[city[i]]
                word = base + zipf_rank(u, world.local_from[city[i] + 1] - base)
            elif topic >= 0 and source >= 1.0 - world.topic_share:
                word = np.int64(world.topic_words[topic, int(topic_words * u * u)])
            else:
                word = np.int64(mandelbrot_rank(u, world.global_words, world.exponent, world.shift))
            fresh = 1
            for j in range(begin, at):
                if words[j] == word:
                    fresh = 0
            distinct += fresh
            words[at] = word
            at += 1
        offsets[i + 1] = at
    return at


def room_for(lengths: NDArray[np.int64]) -> int:
    """The most words that `draw_words` may write: it gives up a message after 2 * length + 8."""
    return int(2 * lengths.sum() + 8 * lengths.size)
