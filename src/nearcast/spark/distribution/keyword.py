"""Keyword (paper 7.3.3): a partition accounts for a range of words; only those who hold one of them go there.

A subscription is stored once for every partition that its words lie in, a message is sent to those of its words.

**Who counts a pair.** The first common word, rare first, decides: its partition was given the subscription and the
message, and no other partition has the same first common word. It needs nothing but the two vectors, so each partition
decides alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nearcast.kernels.jit import helper, kernel
from nearcast.spark.distribution.batches import MessageBatch, SubscriptionBatch
from nearcast.spark.distribution.mechanism import Mechanism, Rows, check_partitions
from nearcast.spark.distribution.ranges import Terms, Words, best_cut, keyword_partition, words_of
from nearcast.spark.distribution.routes import Partitions, Routes

_NOWHERE = np.empty(0, np.int32)


@dataclass(frozen=True, eq=False)
class Keyword(Mechanism):
    """A cell is a range of words: cell i holds those from cuts[i - 1], inclusive, to cuts[i]; the last has no end."""

    cuts: Terms
    kind: ClassVar[str] = "keyword"

    @classmethod
    def fit(
        cls,
        subscriptions: SubscriptionBatch,
        messages: MessageBatch,
        partitions: int,
        vocabulary: int = 0,
        **settings: Any,
    ) -> Self:
        """KeywordPartition on samples. `vocabulary` is how many words there are, if more than the samples show."""
        check_partitions(partitions)
        whole = cls(partitions, np.zeros(1, np.int32), np.empty(0, np.uint32), **settings)
        own, heard = whole._words(subscriptions, messages)
        cuts = keyword_partition(own, heard, partitions, vocabulary)
        return replace(whole, cuts=cuts, labels=np.arange(len(cuts) + 1, dtype=np.int32))

    def assign(self, subscriptions: SubscriptionBatch) -> Routes:
        """The partitions of the words that it is placed by. If there are none, that of its rarest word, to be held."""
        s = subscriptions
        open_end = np.full(s.rows, self.labels[-1])  # nor any word: where words go that nobody has seen
        rarest = np.minimum(np.diff(s.offsets), 1).astype(np.int32)
        spare = self._touched(s.offsets, s.terms, rarest, open_end)[1]
        return Routes(*self._touched(s.offsets, s.terms, self.placed(s), spare))

    def route(self, messages: MessageBatch) -> Routes:
        """The partitions of all of its words."""
        counts = np.diff(messages.offsets).astype(np.int32)
        return Routes(*self._touched(messages.offsets, messages.terms, counts, _NOWHERE))

    def owners(
        self, subscriptions: SubscriptionBatch, messages: MessageBatch, s_rows: Rows, m_rows: Rows
    ) -> Partitions:
        """The partition of the first common word, if the subscription is placed by that."""
        return _first_common(
            subscriptions.offsets, self.placed(subscriptions), subscriptions.terms, messages.offsets, messages.terms,
            s_rows, m_rows, self.cuts, self.labels,
        )  # fmt: skip

    def cut(self, cell: int, subscriptions: SubscriptionBatch, messages: MessageBatch) -> Self | None:
        """The algorithm's split of one range. The open range at the end is cut among the words of the samples."""
        own, heard = self._words(subscriptions, messages)
        low = int(self.cuts[cell - 1]) if cell else 0
        seen = max((int(words.terms.max()) + 1 for words in (own, heard) if len(words.terms)), default=0)
        high = int(self.cuts[cell]) if cell < len(self.cuts) else max(low, seen)
        own, heard = own.within(low, high), heard.within(low, high)
        middle = best_cut(own, heard, low, high, 1, 1) if len(own.terms) or len(heard.terms) else None
        if middle is None:
            return None
        cuts = np.insert(self.cuts, cell, np.uint32(middle))
        return replace(self, cuts=cuts, labels=np.insert(self.labels, cell, self.labels[cell]))

    def costs(self, subscriptions: SubscriptionBatch, messages: MessageBatch) -> NDArray[np.float64]:
        """C(W) = N(W) * p(W)."""
        ends = [0, *self.cuts.tolist(), 1 << 32]
        counts = [
            np.array([words.within(low, high).holders for low, high in pairwise(ends)])
            for words in self._words(subscriptions, messages)
        ]
        return counts[0] * (counts[1] / max(1, messages.rows))

    def _words(self, subscriptions: SubscriptionBatch, messages: MessageBatch) -> tuple[Words, Words]:
        placed = self.placed(subscriptions)
        return words_of(subscriptions.offsets, subscriptions.terms, placed), words_of(messages.offsets, messages.terms)

    def _touched(
        self, offsets: NDArray[np.int64], terms: Terms, counts: NDArray[np.int32], spare: Partitions
    ) -> tuple[NDArray[np.int64], Partitions]:
        return _touched(offsets, counts, terms, spare, self.cuts, self.labels, self.partitions)

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Mechanism:
        return super()._read({**fields, "cuts": np.array(fields["cuts"], np.uint32)})


@helper
def _range(cuts: Any, term: Any, last: Any) -> Any:
    """The range of a word, known to be `last` or one before: words come in descending order."""
    low = 0
    while low < last:
        middle = (low + last) // 2
        if cuts[middle] <= term:
            low = middle + 1
        else:
            last = middle
    return low


@kernel
def _touched(
    offsets: NDArray[np.int64],
    counts: NDArray[np.int32],
    terms: Terms,
    spare: Partitions,
    cuts: Terms,
    labels: Partitions,
    partitions: int,
) -> tuple[NDArray[np.int64], Partitions]:
    """The distinct partitions of each row's first words, in the order of the words; without any, `spare`."""
    rows = len(offsets) - 1
    ends = np.zeros(rows + 1, np.int64)
    found = np.empty(offsets[rows] - offsets[0] + len(spare), np.int32)
    seen = np.full(partitions, -1, np.int64)
    used = 0
    for i in range(rows):
        cell = len(cuts)
        for place in range(offsets[i], offsets[i] + counts[i]):
            cell = _range(cuts, terms[place], cell)
            label = labels[cell]
            if seen[label] != i:
                seen[label] = i
                found[used] = label
                used += 1
        if used == ends[i] and len(spare) > 0:
            found[used] = spare[i]
            used += 1
        ends[i + 1] = used
    return ends, found[:used].copy()


@kernel
def _first_common(
    s_offsets: NDArray[np.int64],
    s_counts: NDArray[np.int32],
    s_terms: Terms,
    m_offsets: NDArray[np.int64],
    m_terms: Terms,
    s_rows: Rows,
    m_rows: Rows,
    cuts: Terms,
    labels: Partitions,
) -> Partitions:
    """The partition of each pair's first common word among the first `s_counts` words; -1 if there is none."""
    owners = np.full(len(s_rows), -1, np.int32)
    for pair in range(len(s_rows)):
        i = s_offsets[s_rows[pair]]
        end = i + s_counts[s_rows[pair]]
        j = m_offsets[m_rows[pair]]
        m_end = m_offsets[m_rows[pair] + 1]
        while i < end and j < m_end:
            if s_terms[i] > m_terms[j]:
                i += 1
            elif s_terms[i] < m_terms[j]:
                j += 1
            else:
                owners[pair] = labels[_range(cuts, s_terms[i], len(cuts))]
                break
    return owners
