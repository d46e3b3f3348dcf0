"""Random streams of operations in worlds so small that everything rare happens all the time.

Few words, few places, few texts: equal scores, equal places, repeated texts. Short windows: expiry, underflow, refills,
k greater than the window. Bursts, standstill and time running backwards; poles and the antimeridian; words never seen.
Some worlds are crowded: hundreds of subscriptions to a handful of words that come and go, so that lists grow past a
block, are packed and moved, and hold dead postings. One seed gives one world and one stream.
"""

import random
from typing import NamedTuple

import pyarrow as pa

from nearcast.changes import from_table
from nearcast.errors import NearcastError
from nearcast.model import last, within
from nearcast.space import earth, plane
from nearcast.text import Vocabulary

PLANES = ((0, 0, 100, 100), (-3, 7, 1_000_000, 8), (-1e-3, -1e-3, 1e-3, 1e-3))
EARTHS = (0.001, 0.002, 0.5, 50, 1000, 12_000, 20_016)
CORNERS = ((180, 10), (-180, 10), (179.9999, 10.0001), (-179.9999, 9.9999), (0, 90), (57, 90), (-120, 89.999))
SOUTH = ((0, -90), (12.5, -90), (0, 0), (-180, 0), (180, 0), (90, -89.9999), (180, 90))


class Operation(NamedTuple):
    """One call of the public API."""

    name: str
    args: tuple
    kwargs: dict

    def on(self, engine):
        """What it answers: changes, or the refusal; and the rows that it rejected."""
        kwargs = dict(self.kwargs)
        if "rejected" in kwargs:
            kwargs["rejected"] = []
        try:
            changes = getattr(engine, self.name)(*self.args, **kwargs)
        except NearcastError as error:
            return [], (type(error).__name__, str(error))
        if isinstance(changes, pa.Table):
            changes = from_table(changes)
        return changes, kwargs.get("rejected")

    def __repr__(self):
        args = [repr(arg.to_pylist() if isinstance(arg, pa.Table) else arg) for arg in self.args]
        return f"{self.name}({', '.join([*args, *(f'{k}={v!r}' for k, v in self.kwargs.items())])})"


class World:
    """Settings of one engine and the source of its operations. `refusals` mixes in operations that must be refused.

    `crowded` says whether the world is crowded, or by how many subscriptions; None leaves it to chance.
    """

    def __init__(self, seed, refusals=True, crowded=None):
        rng = self.rng = random.Random(seed)
        self.unseen = 0
        self.refusals = refusals
        self.crowded = rng.random() < 0.12 if crowded is None else crowded
        self.live_target = rng.choice((2, 8, 16, 30, 60) if self.crowded else (1, 2, 4, 8, 16, 30, 60, 120, 200))
        by_time = rng.random() < 0.5
        self.step = rng.choice((1, 3, 1000))  # mean time between messages
        self.window = within(milliseconds=self.live_target * self.step) if by_time else last(self.live_target)
        on_earth = rng.random() < 0.5
        self.space = earth(max_km=rng.choice(EARTHS)) if on_earth else plane(*rng.choice(PLANES))
        self.words = [f"w{i}" for i in range(rng.choice((2, 3, 5, 8) if self.crowded else (2, 5, 12, 40, 200)))]
        self.centre = self._anywhere()
        self.places = [self._near() for _ in range(rng.choice((1, 3, 10)))] + [self._anywhere() for _ in range(2)]
        if on_earth:
            self.places += rng.sample(CORNERS + SOUTH, 5)
        self.texts = [self._fresh_text() for _ in range(6)]
        self.corpus = [self._fresh_text() for _ in range(30)] if rng.random() < 0.5 else None
        self.subscriptions = rng.choice((150, 250, 400) if self.crowded else (1, 5, 12, 25, 40))
        if crowded is not None and crowded > 1:
            self.subscriptions = crowded
        self.ks = rng.choice(((1,), (1, 2, 3), (2, 5, 8), (20,), (1, 5, 30, 250, 1000)))
        self.alphas = rng.choice(((0,), (1,), (0.5,), (0, 1, 0.5), (0.00101, 0.005, 0.01), None))
        self.time = rng.choice((0, -5000, 1_700_000_000_000))
        self.registered = 0

    def engine(self, factory):
        """A new engine of this world, with a vocabulary of its own."""
        vocabulary = Vocabulary() if self.corpus is None else Vocabulary.fit(self.corpus)
        return factory(self.window, self.space, vocabulary)

    def next(self, ids):
        """The next operation, given the ids that are registered."""
        draw = self.rng.random()
        missing = self.subscriptions - len(ids)
        if self.crowded and missing > 30 and draw > 0.6:
            return self._subscribe_many(ids, self.rng.choice((60, missing)))
        if self.refusals and draw < 0.02:
            return self._refused(ids)
        if draw < 0.05:
            return Operation("advance", (self._tick(),), {})
        if draw < 0.10:
            return self._publish_many()
        if draw < 0.12:
            return self._subscribe_many(ids)
        if draw < 0.15 + 0.02 * min(missing, 20) and missing > -3:
            return self._subscribe()
        if ids and (draw > (0.85 if self.crowded else 0.96) or missing < -10):
            return Operation("unsubscribe", (self.rng.choice(ids),), {})
        return self._publish()

    # --- One operation of each kind ---

    def _publish(self):
        rng = self.rng
        kwargs = {"at": self._place(), "time": self._tick()}
        if rng.random() < 0.2:
            kwargs |= {
                "id": rng.choice(("a", "é", "x" * 256)),
                "payload": rng.choice(({"n": [1, None]}, b"\0", "p", 7)),
            }
        return Operation("publish", (self._words(),), kwargs)

    def _publish_many(self):
        rows = range(self.rng.choice((0, 1, 2, 5, 20)))
        places = [self._place() for _ in rows]
        columns = {
            "text": pa.array([self._text() for _ in rows], pa.string()),
            "x": pa.array([float(x) for x, _ in places], pa.float64()),
            "y": pa.array([float(y) for _, y in places], pa.float64()),
            "time": pa.array([self._tick() for _ in rows], pa.int64()),
        }
        if self.rng.random() < 0.3:
            columns["id"] = pa.array([self.rng.choice((None, "b")) for _ in rows], pa.string())
            columns["payload"] = pa.array([[row] for row in rows], pa.list_(pa.int64()))
        if self.refusals and rows and self.rng.random() < 0.2:
            columns["x"] = pa.array([None if self.rng.random() < 0.3 else float(x) for x, _ in places], pa.float64())
        return Operation("publish_many", (pa.table(columns),), self._rejected())

    def _subscribe(self):
        self.registered += 1
        kwargs = {"at": self._place(), "k": self._k(), "alpha": self._alpha()}
        return Operation("subscribe", (f"s{self.registered}", self._words(least=1)), kwargs)

    def _subscribe_many(self, ids, count=None):
        rows = range(self.rng.choice((0, 1, 2, 4)) if count is None else count)
        fresh = range(self.registered + 1, self.registered + 1 + len(rows))
        self.registered += len(rows)
        names = [f"s{number}" for number in fresh]
        least = 1
        if self.refusals and names and self.rng.random() < 0.4:
            least = 0
            names[-1] = self.rng.choice([names[0], "", None, *ids[:1]])
        places = [self._place() for _ in rows]
        columns = {
            "id": pa.array(names, pa.string()),
            "text": pa.array([self._text(least) for _ in rows], pa.string()),
            "x": pa.array([float(x) for x, _ in places], pa.float64()),
            "y": pa.array([float(y) for _, y in places], pa.float64()),
            "k": pa.array([self._k() for _ in rows], pa.int32()),
            "alpha": pa.array([self._alpha() for _ in rows], pa.float64()),
        }
        return Operation("subscribe_many", (pa.table(columns),), self._rejected())

    def _rejected(self):
        return {"rejected": []} if self.rng.random() < 0.6 else {}

    def _refused(self, ids):
        good = {"at": self._place(), "k": 3, "alpha": 0.5}
        name = f"s{self.registered + 1}"
        return self.rng.choice(
            [
                Operation("unsubscribe", (name,), {}),
                Operation("subscribe", (ids[0] if ids else "", "w1 news"), good),
                Operation("subscribe", (name, "news1 news2 news3"), good | {"k": 0}),
                Operation("subscribe", (name, "news1 news2 news3"), good | {"alpha": float("nan")}),
                Operation("subscribe", (name, "news1 news2 news3"), good | {"at": (1e18, 0)}),
                Operation("subscribe", (name, " , "), good),
                Operation("subscribe", (name, " ".join(f"news{i}" for i in range(65))), good),
                Operation("publish", ("news1 w1",), {"at": (0, float("nan")), "time": self.time}),
                Operation("publish", ("news1 w1",), {"at": self._place(), "time": 1 << 60}),
                Operation("publish", ({"w1": -1.0},), {"at": self._place(), "time": self.time}),
                Operation("publish", ("w1 \ud800",), {"at": self._place(), "time": self.time}),
                Operation("advance", ("tomorrow",), {}),
            ]
        )

    # --- Values ---

    def _tick(self):
        """Mostly forward by small steps; bursts at one time, jumps past the window, and backwards."""
        draw = self.rng.random()
        if draw < 0.05:
            return self.time - self.rng.randint(1, 3 * self.step)
        if draw < 0.06:
            self.time += self.live_target * self.step + self.rng.randint(-1, 1)
        elif draw < 0.66:
            self.time += int(self.rng.expovariate(0.6 / self.step))
        return self.time

    def _k(self):
        return self.rng.choice(self.ks)

    def _alpha(self):
        return self.rng.random() if self.alphas is None else self.rng.choice(self.alphas)

    def _place(self):
        return self.rng.choice(self.places) if self.rng.random() < 0.7 else self._near()

    def _anywhere(self):
        w = self.space.world
        return self.rng.uniform(w.xmin, w.xmax), self.rng.uniform(w.ymin, w.ymax)

    def _near(self):
        """Around the centre, within a hundredth of MaxDist or so."""
        w = self.space.world
        spread = w.max_dist / (100 if not w.radius else 11_000)
        x, y = self.centre[0] + self.rng.gauss(0, spread), self.centre[1] + self.rng.gauss(0, spread)
        return min(max(x, w.xmin), w.xmax), min(max(y, w.ymin), w.ymax)

    def _words(self, least=0):
        """A text, or now and then keywords with weights or as a list."""
        draw = self.rng.random()
        if draw < 0.1:
            return {word: self.rng.choice((1, 0.5, 1e-9, 3e8)) for word in self._text(1).split()}
        return self._text(1).split() if draw < 0.15 else self._text(least)

    def _text(self, least=0):
        return self.rng.choice(self.texts) if self.rng.random() < 0.4 else self._fresh_text(least)

    def _fresh_text(self, least=1):
        rng = self.rng
        size = rng.choice((least, 1, 2, 3, 5, 9))
        words = [self.words[int(len(self.words) * rng.random() ** 2)] for _ in range(size)]
        if words and rng.random() < 0.05:
            self.unseen += 1
            words.append(f"new{self.unseen}")
        return " ".join(words)
