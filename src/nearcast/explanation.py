"""Why a message stands in a subscription's list, or does not: the parts of its score, word by word."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearcast.kernels.brute import score_parts
from nearcast.space import Space

Vector = tuple[NDArray[np.uint32], NDArray[np.float32]]
"""Term ids, descending, and their weights."""


@dataclass(frozen=True)
class MatchedWord:
    """A common word and what it adds to the textual similarity."""

    word: str
    subscription_weight: float
    message_weight: float
    product: float


@dataclass(frozen=True)
class Explanation:
    """One subscription and one live message: `score` = `alpha` * `ssim` + (1 - `alpha`) * `tsim`."""

    subscription: str
    message: int
    alpha: float
    ssim: float
    tsim: float
    score: float | None
    """None without a common word: then there is no match, however near the message is."""
    distance: float
    """In the units of the plane, or in km on earth."""
    words: tuple[MatchedWord, ...]
    """The common words, the one that adds most first."""
    threshold: float
    """Messages that score less are not looked at for this subscription; 0 = all that match are."""
    rank: int | None
    """The place in the list, from 1; None outside it."""
    in_top: bool
    outcome: str
    """Why it is in the list or not, in words."""


def explain(
    pair: tuple[str, int],
    space: Space,
    alpha: float,
    points: tuple[NDArray[np.float64], NDArray[np.float64]],
    vectors: tuple[Vector, Vector],
    word: Callable[[int], str],
    ranked: tuple[int | None, int],
    threshold: float,
    reason: str,
) -> Explanation:
    """Put the parts together; subscription first in every pair. `ranked` is the message's rank and the list's length.

    `reason` is the engine's own account of a message that matches but is not in the list.
    """
    ssim, tsim, score = score_parts(
        space.radius, space.max_dist, np.float32(alpha), points[0], *vectors[0], points[1], *vectors[1]
    )
    rank, length = ranked
    if tsim < 0:
        outcome = "no common keyword: no match, however near the message is"
    elif rank is not None:
        outcome = f"in the list, at rank {rank} of {length}"
    else:
        outcome = f"matches, but {length} live messages score higher, or as high and are newer"
        outcome += f"; {reason}" if reason else ""
    chord = math.dist(*points)
    arc = 2 * space.radius * math.asin(min(1.0, chord / (2 * space.radius))) if space.radius else chord
    return Explanation(
        subscription=pair[0],
        message=pair[1],
        alpha=alpha,
        ssim=float(ssim),
        tsim=max(0.0, float(tsim)),
        score=None if tsim < 0 else float(score),
        distance=arc,
        words=tuple(MatchedWord(word(term), s, m, s * m) for term, s, m in common(*vectors)),
        threshold=threshold,
        rank=rank,
        in_top=rank is not None,
        outcome=outcome,
    )


def common(s_vector: Vector, m_vector: Vector) -> list[tuple[int, float, float]]:
    """Common terms with both weights, the one with the greatest product first."""
    theirs = dict(zip(m_vector[0].tolist(), m_vector[1].tolist(), strict=True))
    pairs = zip(s_vector[0].tolist(), s_vector[1].tolist(), strict=True)
    matched = [(term, weight, theirs[term]) for term, weight in pairs if term in theirs]
    return sorted(matched, key=lambda match: -match[1] * match[2])
