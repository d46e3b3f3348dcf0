"""What a workload is like, in the terms of the paper's Table 1 and a few that it leaves out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.bench.workloads.documents import DocumentCounts
from nearcast.bench.workloads.workload import CHUNK, Workload

GRID = 100
"""Cells a side of the grid on which places are counted."""


class Description(NamedTuple):
    """Measured on a workload's messages. A share is a number from 0 to 1."""

    messages: int
    vocabulary: int
    """Distinct words."""
    words: float
    """Distinct words a message, on average."""
    words_spread: float
    """Their standard deviation."""
    top_words: dict[str, float]
    """The ten most frequent words, each with the share of messages that have it."""
    top_10_share: float
    """Of all words of all messages (each counted once a message), the share of the ten most frequent."""
    top_100_share: float
    once_share: float
    """Words that only one message has, as a share of the vocabulary."""
    densest_share: float
    """Messages in the densest hundredth of the cells of a grid over the box: 0.01 if places were spread evenly."""


def describe(workload: Workload, sample: int | None = None) -> Description:
    """Statistics of all messages, or of the first `sample`."""
    counts = DocumentCounts()
    squares = 0
    cells = np.zeros(GRID * GRID, np.int64)
    for first, count in workload.spans(CHUNK, 0, sample):
        batch = workload.documents(first, count)
        sizes = counts.add(batch)
        squares += int((sizes**2).sum())
        cells += _cells(batch.x, batch.y, workload.box)
    ranked = np.sort(counts.counts)[::-1]
    top = counts.by_frequency()[:10]
    mean = counts.distinct / counts.messages
    occurrences = max(1, counts.distinct)
    return Description(
        messages=counts.messages,
        vocabulary=counts.vocabulary,
        words=mean,
        words_spread=float(np.sqrt(max(0.0, squares / counts.messages - mean**2))),
        top_words=dict(
            zip(workload.spell(top).to_pylist(), (counts.counts[top] / counts.messages).tolist(), strict=True)
        ),
        top_10_share=float(ranked[:10].sum() / occurrences),
        top_100_share=float(ranked[:100].sum() / occurrences),
        once_share=float(np.count_nonzero(ranked == 1) / max(1, counts.vocabulary)),
        densest_share=float(np.sort(cells)[::-1][: GRID * GRID // 100].sum() / counts.messages),
    )


def _cells(x: NDArray[np.float64], y: NDArray[np.float64], box: tuple[float, float, float, float]) -> NDArray[np.int64]:
    """Messages in each cell of the grid."""
    xmin, ymin, xmax, ymax = box
    column = np.clip((x - xmin) / (xmax - xmin) * GRID, 0, GRID - 1).astype(np.int64)
    row = np.clip((y - ymin) / (ymax - ymin) * GRID, 0, GRID - 1).astype(np.int64)
    return np.bincount(row * GRID + column, minlength=GRID * GRID)
