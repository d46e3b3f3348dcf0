"""Aggregation: stream 6 comes in, stream 7 goes out (paper 7.2, aggregation bolts).

A message partition's part holds all of its messages that score at least the rank-th best among them. The rank-th best
of all is no lower, so whatever reaches it stands in the parts. If there are fewer than rank, all parts hold everything
that matches, and theta is 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearcast.kernels import partial
from nearcast.spark.topology.streams import Answers, Partials


def aggregate(parts: Sequence[Partials]) -> Answers:
    """The parts of the same requests, in the same order, one of each message partition; merged.

    The home makes the skyband of it: it has the working room, and the answer is in the order that this needs.
    """
    asked = parts[0]
    bases = np.cumsum([0, *(len(part.scores) for part in parts)])
    bounds = np.array([part.offsets + base for part, base in zip(parts, bases[:-1], strict=True)])
    scores = np.concatenate([part.scores for part in parts])
    seqs = np.concatenate([part.seqs for part in parts])
    thetas, offsets = np.zeros(asked.rows, np.float32), np.zeros(asked.rows + 1, np.int64)
    out_scores, out_seqs = np.empty_like(scores), np.empty_like(seqs)
    heads, ends = bounds[:, :-1].copy(), bounds[:, 1:].copy()
    used = partial.merge(heads, ends, scores, seqs, asked.ranks, thetas, offsets, out_scores, out_seqs)
    works = np.sum([part.works for part in parts], axis=0)
    return Answers(asked.numbers, asked.homes, thetas, works, offsets, out_scores[:used], out_seqs[:used])
