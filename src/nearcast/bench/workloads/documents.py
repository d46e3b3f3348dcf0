"""Messages as word numbers, and how often each word occurs: the form that all recipes and statistics share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.kernels.jit import kernel


class Documents(NamedTuple):
    """A batch of messages whose words are numbers of the workload's own."""

    offsets: NDArray[np.int64]
    """Message i has the words offsets[i] .. offsets[i + 1]."""
    words: NDArray[np.int32]
    """As they stand in the text, a repeated word more than once."""
    x: NDArray[np.float64]
    y: NDArray[np.float64]


@kernel
def count_documents(
    offsets: NDArray[np.int64],
    words: NDArray[np.int32],
    first: int,
    counts: NDArray[np.int64],
    seen: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """Add to counts[w] the messages that have w; sizes[i] becomes the distinct words of message i.

    `seen` holds for each word the last message that had it, `first` numbers this batch's first message, from 1.
    """
    for i in range(offsets.size - 1):
        for j in range(offsets[i], offsets[i + 1]):
            word = words[j]
            if seen[word] != first + i:
                seen[word] = first + i
                counts[word] += 1
                sizes[i] += 1


class DocumentCounts:
    """In how many messages each word stands; grows with the words."""

    def __init__(self) -> None:
        self.counts = np.zeros(0, np.int64)
        self.messages = 0
        self.distinct = 0
        """Sum over messages of their distinct words."""
        self._seen = np.zeros(0, np.int64)

    def add(self, batch: Documents) -> NDArray[np.int64]:
        """Count a batch; returns the distinct words of each message."""
        most = int(batch.words.max()) + 1 if batch.words.size else 0
        if most > self.counts.size:
            grown = max(most, 2 * self.counts.size)
            self.counts = np.concatenate([self.counts, np.zeros(grown - self.counts.size, np.int64)])
            self._seen = np.concatenate([self._seen, np.zeros(grown - self._seen.size, np.int64)])
        sizes = np.zeros(batch.offsets.size - 1, np.int64)
        count_documents(batch.offsets, batch.words, self.messages + 1, self.counts, self._seen, sizes)
        self.distinct += int(sizes.sum())
        self.messages += sizes.size
        return sizes

    @property
    def vocabulary(self) -> int:
        """How many words occurred."""
        return int(np.count_nonzero(self.counts))

    def by_frequency(self) -> NDArray[np.int32]:
        """The words that occurred, most frequent first; of equals the lower number."""
        order = np.argsort(-self.counts, kind="stable")
        return order[: self.vocabulary].astype(np.int32)
