"""KeywordPartition, the paper's cost-balanced split of the vocabulary (7.3.3, Algorithm KeywordPartition).

Words are ordered by their frequency: by their ids, 0 the most frequent. A set W of consecutive words costs
C(W) = N(W) * p(W): subscriptions that are placed by a word of W times the share of messages that hold one. W is split
after the word where both sides' costs balance (`balance`), found in one scan: a subscription counts on the left of a
split if its least word of W does, and on the right if its greatest does. The scan jumps from one such word to the next,
so a vocabulary of millions costs no more than the words that the samples hold.

Left open by the paper, and chosen here: a part with fewer words than it was given partitions leaves them to its sibling
(one word may cost more than half of all), and the last range is open, so a word that nobody has seen has a place, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.spark.distribution.balance import best_split, shares

Terms = NDArray[np.uint32]

POWER = 1
"""Ranges overlap in what they hold and hear (see `balance`)."""


class Words(NamedTuple):
    """Every word of some rows beside the row's number; rows ascend."""

    rows: NDArray[np.int64]
    terms: NDArray[np.int64]

    def within(self, low: int, high: int) -> Words:
        """Those with low <= word < high."""
        inside = (self.terms >= low) & (self.terms < high)
        return Words(self.rows[inside], self.terms[inside])

    def extremes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The least and the greatest word of each row that has any; a row's words descend."""
        change = self.rows[1:] != self.rows[:-1]
        edge = np.ones(min(1, len(self.rows)), np.bool_)
        return self.terms[np.append(change, edge)], self.terms[np.append(edge, change)]

    @property
    def holders(self) -> int:
        """How many rows have a word."""
        return int(np.count_nonzero(self.rows[1:] != self.rows[:-1])) + min(1, len(self.rows))


def words_of(offsets: NDArray[np.int64], terms: Terms, counts: NDArray[np.int32] | None = None) -> Words:
    """The first `counts` words of each row, or all."""
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    inside = terms[offsets[0] : offsets[-1]].astype(np.int64)
    if counts is not None:
        first = np.arange(offsets[0], offsets[-1]) - offsets[rows] < counts[rows]
        rows, inside = rows[first], inside[first]
    return Words(rows, inside)


def keyword_partition(subscriptions: Words, messages: Words, partitions: int, vocabulary: int) -> Terms:
    """Where ranges 1, 2, ... begin; range 0 begins at word 0. Fewer ranges if there are fewer words than partitions."""
    if not len(subscriptions.terms):
        subscriptions = messages
    cuts: list[int] = []

    def build(own: Words, heard: Words, low: int, high: int, k: int) -> None:
        middle = best_cut(own, heard, low, high, (k + 1) // 2, k // 2) if k > 1 else None
        if middle is None:
            return
        k1, k2 = shares(k, middle - low, high - middle)
        build(own.within(low, middle), heard.within(low, middle), low, middle, k1)
        cuts.append(middle)
        build(own.within(middle, high), heard.within(middle, high), middle, high, k2)

    seen = max((int(words.terms.max()) + 1 for words in (subscriptions, messages) if len(words.terms)), default=0)
    build(subscriptions, messages, 0, max(vocabulary, seen), partitions)
    return np.array(cuts, np.uint32)


def best_cut(own: Words, heard: Words, low: int, high: int, k1: int, k2: int) -> int | None:
    """The first word of the right part of low .. high, where the costs stand as k1 to k2; None for a single word."""
    if high - low < 2:
        return None
    ends = [*own.extremes(), *heard.extremes()]
    after = np.unique(np.concatenate([[low], *ends]))  # between two of these nothing changes
    after = after[after < high - 1]
    least, greatest, their_least, their_greatest = (
        np.searchsorted(np.sort(ends_of), after, side="right") for ends_of in ends
    )
    best = best_split(least, their_least, len(ends[0]) - greatest, len(ends[2]) - their_greatest, k1, k2, POWER)
    return int(after[best]) + 1
