"""The semantics once more, in plain Python, written from DESIGN.md alone: it checks that the reference is right.

It shares the encoding of texts and places with the engines, nothing else: no lists kept, no kernel, no columns.
"""

import math

import numpy as np
import pyarrow as pa

from nearcast.changes import SCHEMA
from nearcast.model import Change, Last, Ranked


class NaiveEngine:
    def __init__(self, window, space, vocabulary):
        self.window, self.space, self.vocabulary = window, space, vocabulary
        self.now = -math.inf
        self.seq = -1
        self.live = []  # (seq, point, words, envelope)
        self.registered = {}  # id -> (point, words, k, alpha)

    def __iter__(self):
        return iter(self.registered)

    # --- What is kept ---

    def _encode(self, text, at, count):
        vectors = self.vocabulary.encode([text], count=count)
        words = dict(zip(vectors.terms.tolist(), vectors.weights.tolist(), strict=True))
        return self.space.embed(*at)[0].tolist(), words

    def _list(self, id):
        point, words, k, alpha = self.registered[id]
        found = []
        for seq, place, their_words, _ in self.live:
            common = words.keys() & their_words.keys()
            if common:
                tsim = math.fsum(words[word] * their_words[word] for word in common)
                chord = math.sqrt(sum((a - b) ** 2 for a, b in zip(point, place, strict=True)))
                r = self.space.radius
                distance = 2.0 * r * math.asin(min(1.0, chord / (2.0 * r))) if r else chord
                ssim = max(0.0, 1.0 - distance / self.space.max_dist)
                found.append((float(np.float32(alpha * ssim + (1.0 - alpha) * tsim)), seq))
        return [(seq, score) for score, seq in sorted(found, reverse=True)[:k]]

    def _lists(self):
        return {id: self._list(id) for id in self.registered}

    def _expire(self):
        if isinstance(self.window, Last):
            self.live = [m for m in self.live if m[0] > self.seq - self.window.count]
        else:
            self.live = [m for m in self.live if m[3][2] > self.now - self.window.duration_ms]

    def _changes(self, before, cause=None):
        """What differs from `before`; `cause` is "arrived" if the newest message just did."""
        changes = []
        after = self._lists()
        oldest = self.live[0][0] if self.live else self.seq + 1
        for id in dict.fromkeys([*before, *after]):
            old, new = before.get(id, []), after.get(id, [])
            for rank, (seq, score) in enumerate(old, 1):
                if (seq, score) not in new:
                    why = "expired" if seq < oldest else "displaced"
                    why = why if id in after else "unsubscribed"
                    changes.append(Change(self.seq, id, "left", seq, rank, score, why))
            for rank, (seq, score) in enumerate(new, 1):
                if (seq, score) not in old:
                    why = "arrived" if seq == self.seq and cause == "arrived" else "refilled"
                    why = why if id in before else "registered"
                    changes.append(Change(self.seq, id, "entered", seq, rank, score, why))
        return changes

    # --- Operations ---

    def subscribe(self, id, text, *, at, k=20, alpha=0.5):
        before = self._lists()
        self.registered[id] = (*self._encode(text, at, False), k, float(np.float32(alpha)))
        return self._changes(before)

    def unsubscribe(self, id):
        before = self._lists()
        del self.registered[id]
        return self._changes(before)

    def publish(self, text, *, at, time, id=None, payload=None):
        before = self._lists()
        self.now = max(self.now, time)
        self.seq += 1
        self.live.append((self.seq, *self._encode(text, at, True), (id, payload, self.now, *at)))
        self._expire()
        return self._changes(before, "arrived")

    def advance(self, time):
        before = self._lists()
        self.now = max(self.now, time)
        self._expire()
        return self._changes(before)

    def subscribe_many(self, table, rejected=None):
        changes = []
        for row in table.to_pylist():
            changes += self.subscribe(row["id"], row["text"], at=(row["x"], row["y"]), k=row["k"], alpha=row["alpha"])
        return self._table(changes)

    def publish_many(self, table, rejected=None):
        changes = []
        for row in table.to_pylist():
            envelope = {name: row.get(name) for name in ("id", "payload")}
            changes += self.publish(row["text"], at=(row["x"], row["y"]), time=row["time"], **envelope)
        return self._table(changes)

    def _table(self, changes):
        columns = list(zip(*changes, strict=True)) or [[]] * len(SCHEMA.names)
        return pa.table([pa.array(c, t) for c, t in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA)

    def top(self, id):
        envelopes = {m[0]: m[3] for m in self.live}
        return [
            Ranked(seq, e[0], score, e[2], float(e[3]), float(e[4]), e[1])
            for seq, score in self._list(id)
            for e in [envelopes[seq]]
        ]
