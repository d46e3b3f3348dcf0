"""The demo's subscriptions, and what has just happened to their lists: what entered, moved, left."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

import nearcast as nc
from nearcast.demo.places import CENTRES, around, somewhere_in
from nearcast.demo.stream import Post
from nearcast.demo.topics import any_topic, sentence

WINDOW_S = 30
MAX_KM = 60
CROWD = 5_000
"""More subscriptions, not shown, so that the engine has something to do."""


class Wish(NamedTuple):
    """A subscription that is shown."""

    id: str
    words: str
    city: str
    k: int
    alpha: float


WISHES = (
    Wish("ramen", "vegan ramen noodles", "Berlin", 4, 0.4),
    Wish("gigs", "live jazz blues tickets", "London", 5, 0.2),
    Wish("grid", "power outage blackout", "Houston", 4, 0.8),
    Wish("flood", "storm flood warning", "Manila", 5, 0.6),
    Wish("flat", "room flat balcony rent", "São Paulo", 3, 0.5),
    Wish("trains", "train delayed cancelled", "Sydney", 5, 0.7),
)


@dataclass
class Row:
    """One place of a list, and when something happened to it (in stream time)."""

    seq: int
    score: float
    post: Post
    km: float
    entered: int
    moved: int = 0
    """+1 up, -1 down, at the time `moved_at`."""
    moved_at: int = 0


class Gone(NamedTuple):
    """What has just left a list."""

    row: Row
    cause: nc.Cause
    at: int


@dataclass
class Shown:
    """One list as it is shown."""

    wish: Wish
    rows: list[Row] = field(default_factory=list)
    gone: list[Gone] = field(default_factory=list)

    def update(self, engine: nc.Engine, changes: Iterable[nc.Change], now: int) -> None:
        """Read the list anew, and note what is different."""
        before = {row.seq: (rank, row) for rank, row in enumerate(self.rows)}
        rows = []
        for rank, ranked in enumerate(engine.top(self.wish.id)):
            old, row = before.get(ranked.seq, (rank, None))
            if row is None:
                km = engine.explain(self.wish.id, ranked.seq).distance
                row = Row(ranked.seq, ranked.score, ranked.payload, km, now)
            elif old != rank:
                row.moved, row.moved_at = (1 if rank < old else -1), now
            rows.append(row)
        left = [change for change in changes if change.kind == "left" and change.message in before]
        self.gone = [Gone(before[change.message][1], change.cause, now) for change in left] or self.gone
        self.rows = rows


def start_engine(seed: int) -> nc.Engine:
    """An engine with all subscriptions, no messages yet."""
    vocabulary = nc.Vocabulary(nc.Tokenizer(languages=("en",), stemmer="en"))
    engine = nc.Engine(nc.within(seconds=WINDOW_S), nc.earth(max_km=MAX_KM), vocabulary)
    for wish in WISHES:
        engine.subscribe(wish.id, wish.words, at=CENTRES[wish.city], k=wish.k, alpha=wish.alpha)
    engine.subscribe_many(crowd(seed), rejected=[])  # a few want nothing but stop words
    return engine


def crowd(seed: int) -> pa.Table:
    """Other people's subscriptions: a few words of some sentence, at some place of the six cities."""
    rng = random.Random(seed)
    rows = []
    for number in range(CROWD):
        place = rng.choice(around(rng.choice(list(CENTRES))))
        words = [word for word in sentence(rng, any_topic(rng), place.name).split() if len(word) > 4]
        x, y = somewhere_in(rng, place)
        place_and_taste = {"x": x, "y": y, "k": rng.randint(1, 5), "alpha": rng.random()}
        rows.append({"id": f"#{number}", "text": " ".join(words[-3:]), **place_and_taste})
    return pa.Table.from_pylist(rows)
