"""Subscriptions by the paper's recipe (section 8.1.1), from messages that the stream does not contain if possible.

A message at random gives the place and, at random, 1 to 5 of its distinct words (all, if it has fewer); alpha is
uniform in [0, 1]; k is 20. The variant `zipf` takes the words from the stream's ranking instead, P(rank r) falling as
1 / r: frequent words more often, and words that do not occur together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nearcast.bench.workloads.documents import Documents
from nearcast.bench.workloads.sampling import uniform, zipf_rank
from nearcast.bench.workloads.workload import Workload, stream_key
from nearcast.errors import InvalidInput
from nearcast.kernels.jit import helper, kernel
from nearcast.model import MAX_K

Distribution = Literal["message", "zipf"]


def subscriptions(
    workload: Workload,
    n: int,
    k: int = 20,
    seed: int = 1,
    keywords: tuple[int, int] = (1, 5),
    alpha: float | None = None,
    distribution: Distribution = "message",
) -> pa.Table:
    """`n` subscriptions as one table: id string, keywords list<string>, x, y float64, k int64, alpha float64."""
    return pa.concat_tables(subscription_tables(workload, n, k, seed, keywords, alpha, distribution))


def subscription_tables(
    workload: Workload,
    n: int,
    k: int = 20,
    seed: int = 1,
    keywords: tuple[int, int] = (1, 5),
    alpha: float | None = None,
    distribution: Distribution = "message",
) -> Iterator[pa.Table]:
    """The same in tables of some ten thousand rows, for millions of subscriptions in little memory."""
    _check(n, k, keywords, alpha, distribution)
    key = stream_key(seed, "pick")
    ranking = workload.counts.by_frequency() if distribution == "zipf" else np.zeros(0, np.int32)
    made = 0
    for drawn in workload.sources(n, seed):
        source = _with_words(drawn, n - made)
        rows = source.offsets.size - 1
        if rows == 0:
            continue
        offsets, picked = np.empty(rows + 1, np.int32), np.empty(rows * keywords[1], np.int32)
        alphas = np.full(rows, -1.0 if alpha is None else alpha)
        with np.errstate(over="ignore"):  # hashes wrap around, which NumPy reports where kernels are not compiled
            used = _pick(source.offsets, source.words, ranking, key, made, keywords, offsets, picked, alphas)
        numbers = pa.array(np.arange(made, made + rows))
        yield pa.table(
            {
                "id": pc.binary_join_element_wise("s", numbers.cast(pa.string()), ""),
                "keywords": pa.ListArray.from_arrays(pa.array(offsets), workload.spell(picked[:used])),
                "x": source.x,
                "y": source.y,
                "k": np.full(rows, k, np.int64),
                "alpha": alphas,
            }
        )
        made += rows
        if made == n:
            return


@helper
def _holds(words: NDArray[np.int32], begin: int, end: int, word: int) -> bool:
    """Whether the word stands in words[begin:end]."""
    found = False
    for i in range(begin, end):
        if words[i] == word:
            found = True
    return found


@kernel
def _pick(
    message_offsets: NDArray[np.int64],
    message_words: NDArray[np.int32],
    ranking: NDArray[np.int32],
    key: np.uint64,
    first: int,
    keywords: tuple[int, int],
    offsets: NDArray[np.int32],
    picked: NDArray[np.int32],
    alphas: NDArray[np.float64],
) -> int:
    """Choose each subscription's words and, where it is negative, alpha. Returns how many words were chosen."""
    least, most = keywords
    distinct = np.empty(max(1, np.max(message_offsets[1:] - message_offsets[:-1])), np.int32)
    at = 0
    offsets[0] = 0
    for i in range(offsets.size - 1):
        count = (first + i) << 16  # the random numbers of subscription i
        wanted = least + int(uniform(key, count) * (most - least + 1))
        if alphas[i] < 0.0:
            alphas[i] = uniform(key, count + 1)
        begin = at
        if ranking.size > 0:
            wanted = min(wanted, ranking.size)
            draw = count + 2
            while at < begin + wanted:
                # After many vain draws (few words, or a very frequent one) take the next free rank.
                rank = zipf_rank(uniform(key, draw), ranking.size) if draw < count + 1000 else draw % ranking.size
                draw += 1
                if not _holds(picked, begin, at, ranking[rank]):
                    picked[at] = ranking[rank]
                    at += 1
        else:
            size = 0
            for j in range(message_offsets[i], message_offsets[i + 1]):
                if not _holds(distinct, 0, size, message_words[j]):
                    distinct[size] = message_words[j]
                    size += 1
            for j in range(min(wanted, size)):
                other = j + int(uniform(key, count + 2 + j) * (size - j))
                distinct[j], distinct[other] = distinct[other], distinct[j]
                picked[at] = distinct[j]
                at += 1
        offsets[i + 1] = at
    return at


def _with_words(batch: Documents, most: int) -> Documents:
    """The batch's first `most` messages that have a word."""
    sizes = np.diff(batch.offsets)
    rows = np.flatnonzero(sizes)[:most]
    if rows.size == sizes.size:
        return batch
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[rows])])
    words = batch.words[np.repeat(batch.offsets[rows] - offsets[:-1], sizes[rows]) + np.arange(offsets[-1])]
    return Documents(offsets, words, batch.x[rows], batch.y[rows])


def _check(n: int, k: int, keywords: tuple[int, int], alpha: float | None, distribution: str) -> None:
    if n < 1:
        raise InvalidInput("n", f"takes at least 1, not {n!r}")
    if not 1 <= k <= MAX_K:
        raise InvalidInput("k", f"takes a whole number from 1 to {MAX_K}, not {k!r}")
    if not 1 <= keywords[0] <= keywords[1] <= 64:
        raise InvalidInput("keywords", f"takes (least, most) with 1 <= least <= most <= 64, not {keywords!r}")
    if alpha is not None and not 0 <= alpha <= 1:
        raise InvalidInput("alpha", f"takes a number from 0 to 1 or None, not {alpha!r}")
    if distribution not in ("message", "zipf"):
        raise InvalidInput("distribution", f"takes 'message' or 'zipf', not {distribution!r}")
