"""A shard's live subscriptions as plain matrices, so that a check is a few comparisons of whole columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.kernels import layout as at
from nearcast.kernels.layout import Subscriptions
from nearcast.kernels.signatures import GOLDEN, PRINTS

Array = NDArray[Any]


class Table(NamedTuple):
    """Rows in use; their terms side by side, and per term what comes after it in the same subscription."""

    rows: Array  # the rows of the live subscriptions
    owner: Array  # of each term: its row
    place: Array  # of each term: its place in the term table
    term: Array
    weight: Array  # float64
    posting: Array  # its posting, counted from the start of the term's list
    later_sum: Array  # float64, of the later terms' weights
    later_max: Array
    later_squares: Array
    later_count: Array
    later_prints: Array  # uint32, the fingerprints of the first four, the first one again where there are fewer


def short_bits(terms: Array) -> Array:
    """The signature of each term (see `kernels.signatures`)."""
    hashes = (terms.astype(np.uint64) * np.uint64(GOLDEN)) & np.uint64(0xFFFFFFFF)
    bits: Array = (np.uint64(1) << (hashes >> np.uint64(27))).astype(np.uint32)
    return bits


def fingerprints(terms: Array) -> Array:
    """Eight bits of each term (see `kernels.signatures`)."""
    prints: Array = ((terms.astype(np.uint64) * np.uint64(GOLDEN)) & np.uint64(0xFFFFFFFF)) >> np.uint64(24)
    return prints


def table_of(s: Subscriptions) -> Table:
    """All live subscriptions."""
    used = int(s.control[at.C_ROWS])
    rows = np.flatnonzero(s.u32[:used, at.S_NTERMS] > 0)
    counts = s.u32[rows, at.S_NTERMS].astype(np.int64)
    width = int(counts.max(initial=1))
    column = np.arange(width)
    inside = column < counts[:, None]
    places = s.u32[rows, at.S_TERMS].astype(np.int64)[:, None] + column
    terms = np.where(inside, s.terms[places, 0], 0)
    weights = np.where(inside, s.term_weights[places].astype(np.float64), 0.0)
    prints = fingerprints(terms)
    later_prints = np.zeros(terms.shape, np.uint64)
    for back in range(PRINTS):
        at_least = np.minimum(column + 1 + back, width - 1)
        there = column + 1 + back < counts[:, None]
        first = np.where(column + 1 < counts[:, None], prints[:, np.minimum(column + 1, width - 1)], np.uint64(0))
        later_prints |= np.where(there, prints[:, at_least], first) << np.uint64(8 * back)

    def later(columns: Array, combine: np.ufunc) -> Array:
        ends = combine.accumulate(columns[:, ::-1], axis=1)[:, ::-1]
        after: Array = np.hstack([ends[:, 1:], np.zeros((len(rows), 1), columns.dtype)])[inside]
        return after

    return Table(
        rows=rows,
        owner=np.repeat(rows, counts),
        place=places[inside],
        term=terms[inside].astype(np.int64),
        weight=weights[inside],
        posting=s.terms[places[inside], 2].astype(np.int64),
        later_sum=later(weights, np.add),
        later_max=later(weights, np.maximum),
        later_squares=later(weights * weights, np.add),
        later_count=(counts[:, None] - 1 - column)[inside],
        later_prints=later_prints[inside].astype(np.uint32),
    )


def first_wrong(wrong: Array) -> int:
    """The first place that is wrong, for a sentence."""
    return int(np.flatnonzero(wrong)[0])


def require(right: Array, sentence: str, *columns: Array) -> None:
    """All of them must be right; the sentence's {} take the columns' values at the first that is not."""
    if not np.all(right):
        i = first_wrong(~np.asarray(right))
        raise AssertionError(sentence.format(*(column[i] for column in columns)))
