"""What distribution reads: batches of subscriptions and messages as plain columns, as they come out of Arrow.

`of` is the one gate: it casts, so that a kernel is compiled once and never meets a strided or read-only surprise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class SubscriptionBatch(NamedTuple):
    """Subscriptions, one a row; row i's words are the places offsets[i] .. offsets[i + 1], rare first."""

    numbers: NDArray[np.int64]  # s.id of the paper: unique, at least 0
    places: NDArray[np.float64]  # [n, 2]: x, y in the space's own coordinates (lon, lat on earth)
    alpha: NDArray[np.float32]
    theta: NDArray[np.float32]  # the threshold now; 0: every match counts
    offsets: NDArray[np.int64]
    terms: NDArray[np.uint32]  # descending within a row, distinct
    weights: NDArray[np.float32]
    placed: NDArray[np.int32] | None = None  # by how many words it stands where it stands; None: by its threshold

    @classmethod
    def of(
        cls,
        numbers: ArrayLike,
        places: ArrayLike,
        alpha: ArrayLike,
        theta: ArrayLike,
        offsets: ArrayLike,
        terms: ArrayLike,
        weights: ArrayLike,
        placed: ArrayLike | None = None,
    ) -> SubscriptionBatch:
        """Columns of any kind, cast."""
        return cls(
            _column(numbers, np.int64),
            _column(places, np.float64).reshape(-1, 2),
            _column(alpha, np.float32),
            _column(theta, np.float32),
            _column(offsets, np.int64),
            _column(terms, np.uint32),
            _column(weights, np.float32),
            None if placed is None else _column(placed, np.int32),
        )

    @property
    def rows(self) -> int:
        return len(self.numbers)

    def take(self, rows: NDArray[np.int64]) -> SubscriptionBatch:
        """These rows, in this order."""
        offsets, places = ragged(self.offsets, rows)
        return SubscriptionBatch(
            self.numbers[rows],
            self.places[rows],
            self.alpha[rows],
            self.theta[rows],
            offsets,
            self.terms[places],
            self.weights[places],
            None if self.placed is None else self.placed[rows],
        )


class MessageBatch(NamedTuple):
    """Messages, one a row."""

    places: NDArray[np.float64]  # [n, 2]
    offsets: NDArray[np.int64]
    terms: NDArray[np.uint32]
    weights: NDArray[np.float32]

    @classmethod
    def of(cls, places: ArrayLike, offsets: ArrayLike, terms: ArrayLike, weights: ArrayLike) -> MessageBatch:
        """Columns of any kind, cast."""
        return cls(
            _column(places, np.float64).reshape(-1, 2),
            _column(offsets, np.int64),
            _column(terms, np.uint32),
            _column(weights, np.float32),
        )

    @property
    def rows(self) -> int:
        return len(self.places)

    def take(self, rows: NDArray[np.int64]) -> MessageBatch:
        """These rows, in this order."""
        offsets, places = ragged(self.offsets, rows)
        return MessageBatch(self.places[rows], offsets, self.terms[places], self.weights[places])


def ragged(offsets: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Some rows of a ragged column: the new offsets, and the places that their values come from."""
    counts = (offsets[1:] - offsets[:-1])[rows]
    ends = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends, np.repeat(offsets[:-1][rows] - ends[:-1], counts) + np.arange(ends[-1])


def _column(values: ArrayLike, kind: Any) -> NDArray[Any]:
    return np.require(np.asarray(values, dtype=kind), requirements=["C", "W"])
