"""The made-up stream: everyday messages around six cities and the rest of the world, and now and then a burst."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import cycle
from typing import NamedTuple

from nearcast.demo.places import CENTRES, Place, around, somewhere_in, world
from nearcast.demo.topics import any_topic, sentence

ELSEWHERE = 0.15
"""The share of everyday messages that come from anywhere in the world."""

TALK_OF = {
    "Berlin": "food",
    "Houston": "outage",
    "London": "concert",
    "Manila": "storm",
    "São Paulo": "home",
    "Sydney": "train",
}
TALK_SHARE = 0.35
"""The share of a city's everyday messages that are about what it talks about most."""

FIRST_BURST_S = 6.0
BURST_S = 7.0
CALM_S = 6.0
BURST_SHARE = 0.6
BURST_SPEED = 2.0


class Burst(NamedTuple):
    """Something happens: for a while most messages are about it, and there are twice as many."""

    topic: str
    city: str
    headline: str


BURSTS = (
    Burst("storm", "Manila", "A storm reaches Manila"),
    Burst("concert", "London", "Festival night in London"),
    Burst("outage", "Houston", "The lights go out in Houston"),
    Burst("train", "Sydney", "Signal failure in Sydney"),
    Burst("food", "Berlin", "Street food night in Berlin"),
)


class Post(NamedTuple):
    """One message of the stream. `time` is in milliseconds since its start."""

    time: int
    text: str
    place: Place
    lon: float
    lat: float
    burst: Burst | None


def stream(seed: int, rate: float) -> Iterator[Post]:
    """Messages without end, `rate` a second on average outside of bursts. Same seed and rate, same messages."""
    rng = random.Random(seed)
    burst: Burst | None = None
    now, turn = 0.0, FIRST_BURST_S
    bursts = cycle(BURSTS)
    while True:
        now += rng.expovariate(rate * (BURST_SPEED if burst else 1.0))
        if now >= turn:
            burst = None if burst else next(bursts)
            turn = now + (BURST_S if burst else CALM_S)
        yield post(rng, round(now * 1000), burst)


def post(rng: random.Random, time: int, burst: Burst | None) -> Post:
    """One message; in a burst, most likely about it."""
    about = burst if burst and rng.random() < BURST_SHARE else None
    if about:
        topic, city = about.topic, about.city
    else:
        city = rng.choice(list(CENTRES))
        topic = TALK_OF[city] if rng.random() < TALK_SHARE else any_topic(rng)
    elsewhere = not about and rng.random() < ELSEWHERE
    place = rng.choice(world() if elsewhere else around(city))
    lon, lat = somewhere_in(rng, place)
    return Post(time, sentence(rng, topic, place.name), place, lon, lat, burst)
