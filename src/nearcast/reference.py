"""The brute-force engine: all live messages, every list from scratch after every operation, nothing clever.

It defines what is right. Changes are what differs between a list before and after; the score function is everybody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast import changes as c
from nearcast.changes import ChangeColumns, columns_of
from nearcast.explanation import Vector
from nearcast.frontend import Frontend
from nearcast.intake import MessageBatch, SubscriptionBatch
from nearcast.kernels.brute import rank_all
from nearcast.machinery import Scores
from nearcast.model import Window
from nearcast.snapshot import Contents
from nearcast.space import Space
from nearcast.text import TermVectors, Vocabulary

Row = tuple[int, int, int, int, int, float, int]


class Lists(NamedTuple):
    """The list of every subscription, a row each, of which the first `counts` places are used."""

    seqs: NDArray[np.int64]
    scores: NDArray[np.float32]
    counts: NDArray[np.int64]

    def ranked(self, row: int) -> dict[int, tuple[int, float]]:
        """Message -> rank and score."""
        count = self.counts[row]
        seqs, scores = self.seqs[row, :count].tolist(), self.scores[row, :count].tolist()
        return {seq: (rank, score) for rank, (seq, score) in enumerate(zip(seqs, scores, strict=True), 1)}


def no_lists(subscriptions: int, longest: int) -> Lists:
    """Empty lists with room for the longest; unused places stay -1 and 0."""
    seqs = np.full((subscriptions, longest), -1, np.int64)
    return Lists(seqs, np.zeros(seqs.shape, np.float32), np.zeros(subscriptions, np.int64))


class Table:
    """Points and term vectors of rows in order. Rows before `first` are gone."""

    def __init__(self) -> None:
        self.first = self.end = 0
        self.points = np.zeros((0, 3))
        self.spans = np.zeros(1, np.int64)
        self.terms = np.zeros(0, np.uint32)
        self.weights = np.zeros(0, np.float32)

    def append(self, points: NDArray[np.float64], vectors: TermVectors) -> None:
        used, count = self.spans[self.end], len(points)
        fits = len(vectors.terms)
        self.points = room(self.points, self.end + count)
        self.spans = room(self.spans, self.end + count + 1)
        self.terms, self.weights = room(self.terms, used + fits), room(self.weights, used + fits)
        self.points[self.end : self.end + count] = points
        self.spans[self.end + 1 : self.end + count + 1] = used + vectors.offsets[1:]
        self.terms[used : used + fits] = vectors.terms
        self.weights[used : used + fits] = vectors.weights
        self.end += count

    def save(self) -> dict[str, NDArray[Any]]:
        """The rows that are left."""
        start, stop = self.spans[self.first], self.spans[self.end]
        spans = self.spans[self.first : self.end + 1] - start
        points = self.points[self.first : self.end]
        return {"points": points, "spans": spans, "terms": self.terms[start:stop], "weights": self.weights[start:stop]}

    def load(self, saved: Mapping[str, NDArray[Any]]) -> None:
        self.append(saved["points"], TermVectors(saved["spans"], saved["terms"], saved["weights"]))

    def vector(self, row: int) -> Vector:
        here = slice(self.spans[row], self.spans[row + 1])
        return self.terms[here], self.weights[here]

    def delete(self, start: int, stop: int) -> None:
        """Take rows out of the middle."""
        a, b = self.spans[start], self.spans[stop]
        self.points = np.delete(self.points[: self.end], slice(start, stop), axis=0)
        self.terms, self.weights = np.delete(self.terms, slice(a, b)), np.delete(self.weights, slice(a, b))
        tail = self.spans[stop + 1 : self.end + 1] - (b - a)
        self.spans = np.concatenate([self.spans[: start + 1], tail])
        self.end -= stop - start

    def drop(self, count: int) -> None:
        """Let the oldest rows go; their memory once they are half of all."""
        self.first += count
        if self.first > 64 and 2 * self.first > self.end:
            self.delete(0, self.first)
            self.first = 0


class ReferenceEngine(Frontend):
    """Same interface as `Engine`, same results, no speed. Settings that only tune `Engine` are ignored."""

    kind = "reference"

    def __init__(self, window: Window, space: Space, vocabulary: Vocabulary | None = None, **tuning: object) -> None:
        super().__init__(window, space, vocabulary)
        self._messages = Table()
        self._table = Table()
        self._slots: list[int] = []  # by row of the table of subscriptions: in order of registration
        self._k = np.zeros(0, np.int64)
        self._alpha = np.zeros(0, np.float32)
        self._lists = no_lists(0, 0)

    def _register(self, batch: SubscriptionBatch, vectors: TermVectors) -> ChangeColumns:
        self._table.append(batch.points, vectors)
        self._slots.extend(batch.slots.tolist())
        self._k = np.concatenate([self._k, batch.k])
        self._alpha = np.concatenate([self._alpha, batch.alpha])
        return columns_of(self._recompute(self.newest_seq, c.REGISTERED, c.REGISTERED))

    def _remove(self, slot: int) -> ChangeColumns:
        row = self._slots.index(slot)
        ranked = self._lists.ranked(row)
        self._table.delete(row, row + 1)
        del self._slots[row]
        self._k, self._alpha = np.delete(self._k, row), np.delete(self._alpha, row)
        seqs, scores, counts = self._lists
        self._lists = Lists(np.delete(seqs, row, 0), np.delete(scores, row, 0), np.delete(counts, row))
        return columns_of([(self.newest_seq, slot, c.LEFT, m, *place, c.UNSUBSCRIBED) for m, place in ranked.items()])

    def _accept(self, batch: MessageBatch, vectors: TermVectors) -> ChangeColumns:
        rows: list[Row] = []
        for i, time in enumerate(batch.times.tolist()):
            here = slice(vectors.offsets[i], vectors.offsets[i + 1])
            own = TermVectors(np.array([0, here.stop - here.start]), vectors.terms[here], vectors.weights[here])
            self._messages.append(batch.points[i : i + 1], own)
            rows += self._expire(batch.first_seq + i, time, c.ARRIVED)
        return columns_of(rows)

    def _advance(self, now: int) -> ChangeColumns:
        return columns_of(self._expire(self.newest_seq, now, c.REFILLED))

    def _expire(self, newest: int, now: int, fresh: int) -> list[Row]:
        live = newest + 1 - self._first_live(newest, now)
        self._messages.drop(self._messages.end - self._messages.first - live)
        return self._recompute(newest, fresh, c.REFILLED)

    def _recompute(self, newest: int, fresh: int, older: int) -> list[Row]:
        """Every list from scratch; what differs from before. The newest message enters for the cause `fresh`."""
        before, s, m = self._lists, self._table, self._messages
        after = self._lists = no_lists(len(self._slots), int(self._k.max(initial=0)))
        oldest = newest + 1 - (m.end - m.first)
        rank_all(
            self.space.radius, self.space.max_dist,
            s.points[: s.end], self._alpha, self._k, s.spans, s.terms, s.weights,
            m.points[: m.end], m.spans, m.terms, m.weights, m.first, oldest, *after,
        )  # fmt: skip
        rows: list[Row] = []
        comparable = before.seqs.shape == after.seqs.shape
        differ = (before.seqs != after.seqs).any(1) if comparable else after.counts >= 0
        for i in np.flatnonzero(differ).tolist():
            old, new = before.ranked(i) if i < len(before.counts) else {}, after.ranked(i)
            for message, (rank, score) in old.items():
                if message not in new:
                    why = c.EXPIRED if message < oldest else c.DISPLACED
                    rows.append((newest, self._slots[i], c.LEFT, message, rank, score, why))
            for message, (rank, score) in new.items():
                if message not in old:
                    why = fresh if message == newest else older
                    rows.append((newest, self._slots[i], c.ENTERED, message, rank, score, why))
        return rows

    def _list(self, slot: int) -> Scores:
        row = self._slots.index(slot)
        count = self._lists.counts[row]
        return self._lists.seqs[row, :count], self._lists.scores[row, :count]

    def _vector(self, slot: int) -> Vector:
        return self._table.vector(self._slots.index(slot))

    def _message_vector(self, seq: int) -> Vector:
        return self._messages.vector(self._messages.end - 1 - (self.newest_seq - seq))

    def _save(self) -> Contents:
        arrays = {f"message_{name}": array for name, array in self._messages.save().items()}
        arrays |= {f"subscription_{name}": array for name, array in self._table.save().items()}
        return Contents({}, arrays | {"slots": np.array(self._slots, np.int64), "k": self._k, "alpha": self._alpha}, {})

    def _load(self, saved: Contents) -> None:
        for table, prefix in ((self._messages, "message_"), (self._table, "subscription_")):
            table.load({name: saved.arrays[prefix + name] for name in ("points", "spans", "terms", "weights")})
        self._slots, self._k, self._alpha = saved.arrays["slots"].tolist(), saved.arrays["k"], saved.arrays["alpha"]
        self._recompute(self.newest_seq, c.REGISTERED, c.REGISTERED)

    def _threshold(self, slot: int) -> float:
        """The score of the k-th message: what a newer one has to reach."""
        scores = self._list(slot)[1]
        return float(scores[-1]) if len(scores) == self._registry.row(slot).k else 0.0


def room(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array, or a copy of at least `size` rows; doubling keeps appending cheap."""
    if size <= len(array):
        return array
    bigger = np.zeros((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    return bigger
