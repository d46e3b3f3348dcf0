"""Beyond the paper: do not send a message to a partition in which nobody can take it.

Location sends each message to all partitions. But a partition knows where its subscriptions are and what they ask for.
For the first common word of s and m, with r_s and r_m the lengths of both vectors from that word on,

    score <= alpha * (1 - d / MaxDist) + (1 - alpha) * r_s * r_m       (Cauchy-Schwarz; SSim is at least 0)

so the score reaches theta only if `rest * r_m >= need + far * d`, d at most MaxDist, with rest = (1 - alpha) * r_s,
need = theta - alpha, far = alpha / MaxDist (docs/decisions/0002). It is linear with known signs: for all subscriptions
of a partition that hold a word, the greatest rest, the least need and far, and the distance to the box around them
bound it together. A message is sent if one of its words passes.

What it brings depends on the load, and is little where tastes vary (alpha from 0 to 1) or lists are not full (theta 0):
of 32 partitions with 50,000 subscriptions to the tweets workload a message went to 30.8 (a test of each single posting
would have said 16.5, the truth was 5.0). High thresholds and near tastes are what it is for.

Words share buckets: each frequent one has its own, rare ones are hashed. Chords stand for arcs, being shorter. What is
kept is rounded to float32, far less than SLACK.

It may only be too generous. So whoever is new, or whose threshold has fallen, must be included *before* the next
message is thinned; those who left, or whose thresholds rose, only make it generous: build it anew now and then. It
takes any mechanism's routes, as it speaks of whoever a partition holds. It is not part of a mechanism nor of its JSON:
not to use it is the switch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nearcast.bounds import SLACK
from nearcast.errors import InvalidInput
from nearcast.kernels.geometry import box_chord
from nearcast.kernels.jit import helper, kernel
from nearcast.space import Space
from nearcast.spark.distribution.batches import MessageBatch, SubscriptionBatch
from nearcast.spark.distribution.routes import Partitions, Routes, keep

REST, NEED, FAR = 0, 1, 2

_EMPTY = np.array([-1.0, np.inf, np.inf], np.float32)


@dataclass(frozen=True, eq=False)
class Reach:
    """Of each partition its box and, a bucket of words, the extremes above."""

    space: Space
    boxes: NDArray[np.float64]  # [partition, 6], of embedded points
    words: NDArray[np.float32]  # [partition, bucket, 3]

    @classmethod
    def empty(cls, space: Space, partitions: int, buckets: int = 1 << 15) -> Self:
        """Nobody anywhere. `buckets` is a power of two; 12 bytes each, a partition."""
        if buckets < 2 or buckets & (buckets - 1):
            raise InvalidInput("buckets", f"must be a power of two, at least 2, not {buckets!r}")
        boxes = np.tile(np.repeat([np.inf, -np.inf], 3), (partitions, 1))
        return cls(space, boxes, np.tile(_EMPTY, (partitions, buckets, 1)))

    def including(self, subscriptions: SubscriptionBatch, assigned: Routes) -> Self:
        """With these subscriptions in their partitions, as they are now."""
        boxes, words = self.boxes.copy(), self.words.copy()
        points = self.space.embed(subscriptions.places[:, 0], subscriptions.places[:, 1])
        s = subscriptions
        _include(
            points, s.alpha, s.theta, s.offsets, s.terms, s.weights, assigned.offsets, assigned.partitions,
            self.space.max_dist, boxes, words,
        )  # fmt: skip
        return type(self)(self.space, boxes, words)

    def joined(self, other: Self) -> Self:
        """Both together: what each partition says of itself, put together by whoever routes."""
        boxes = np.hstack([np.minimum(self.boxes, other.boxes)[:, :3], np.maximum(self.boxes, other.boxes)[:, 3:]])
        words = np.minimum(self.words, other.words)
        words[..., REST] = np.maximum(self.words, other.words)[..., REST]
        return type(self)(self.space, boxes, words)

    def thin(self, messages: MessageBatch, routed: Routes) -> Routes:
        """Without the partitions that a message cannot affect."""
        points = self.space.embed(messages.places[:, 0], messages.places[:, 1])
        m = messages
        kept = _kept(
            points, m.offsets, m.terms, m.weights, routed.offsets, routed.partitions,
            self.space.max_dist, self.boxes, self.words,
        )  # fmt: skip
        return keep(routed, kept)


@helper
def _bucket(term: Any, buckets: int) -> Any:
    """Its own for each of the first half, the most frequent; the others are spread over the second half."""
    half = buckets >> 1
    place = np.int64(term)
    return place if place < half else half + (((place * 0x2545F491) >> 15) & (half - 1))


@kernel
def _include(
    points: NDArray[np.float64],
    alpha: NDArray[np.float32],
    theta: NDArray[np.float32],
    offsets: NDArray[np.int64],
    terms: NDArray[np.uint32],
    weights: NDArray[np.float32],
    goal_offsets: NDArray[np.int64],
    goals: Partitions,
    max_dist: float,
    boxes: NDArray[np.float64],
    words: NDArray[np.float32],
) -> None:
    buckets = words.shape[1]
    for i in range(len(alpha)):
        near = np.float64(alpha[i])
        for goal in range(goal_offsets[i], goal_offsets[i + 1]):
            p = goals[goal]
            for axis in range(3):
                boxes[p, axis] = min(boxes[p, axis], points[i, axis])
                boxes[p, 3 + axis] = max(boxes[p, 3 + axis], points[i, axis])
            squares = 0.0
            for place in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
                weight = np.float64(weights[place])
                squares += weight * weight
                row = words[p, _bucket(terms[place], buckets)]
                row[REST] = max(row[REST], np.float32((1.0 - near) * math.sqrt(squares)))
                row[NEED] = min(row[NEED], np.float32(np.float64(theta[i]) - near))
                row[FAR] = min(row[FAR], np.float32(near / max_dist))


@kernel
def _kept(
    points: NDArray[np.float64],
    offsets: NDArray[np.int64],
    terms: NDArray[np.uint32],
    weights: NDArray[np.float32],
    goal_offsets: NDArray[np.int64],
    goals: Partitions,
    max_dist: float,
    boxes: NDArray[np.float64],
    words: NDArray[np.float32],
) -> NDArray[np.bool_]:
    buckets = words.shape[1]
    kept = np.zeros(len(goals), np.bool_)
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        for goal in range(goal_offsets[i], goal_offsets[i + 1]):
            p = goals[goal]
            b = boxes[p]
            dist = min(max_dist, box_chord(x, y, z, b[0], b[1], b[2], b[3], b[4], b[5]))
            squares = 0.0
            for place in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
                weight = np.float64(weights[place])
                squares += weight * weight
                row = words[p, _bucket(terms[place], buckets)]
                if row[REST] >= 0.0 and row[REST] * math.sqrt(squares) + SLACK >= row[NEED] + row[FAR] * dist:
                    kept[goal] = True
                    break
    return kept
