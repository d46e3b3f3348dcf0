"""The pruning rules of the paper's section 5 by name, in plain Python: to read, to explain, and to hold the kernels to.

Names: kScore is the threshold `theta` (the paper's remark in 6.2), SSimUB `ssim_ub`, λ_T `text_threshold`, λ_S
`spatial_threshold`; SSimUB_in, SSimUB_out and both combined (Definitions 6 to 8) are `inner_bound`, `outer_bound` and
`combined_bound`. Words are in the paper's order, rare first, so a vector's term ids descend; ψ[i] of the paper, counted
from 1, is place i - 1 here, and a prefix is given by its length.

Everything is in real numbers. Scores are rounded to float32, so whoever compares with them takes `SLACK` off theta.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearcast.kernels.geometry import combined_bound, inner_bound, outer_bound

__all__ = [
    "SLACK",
    "alpha_star",
    "best_of_range",
    "best_score",
    "combined_bound",
    "early_stop",
    "group_threshold",
    "inner_bound",
    "length_bound",
    "lengths",
    "location_prefix",
    "maxwt",
    "outer_bound",
    "refined_prefix",
    "spatial_threshold",
    "text_threshold",
    "theta_star",
    "unseen_bound",
    "wtsum",
]

Weights = NDArray[Any]
Vector = tuple[NDArray[Any], Weights]
"""Term ids, descending, and their weights."""

SLACK = 2e-6
"""More than rounding to float32 can lift a score."""


# --- 5.1 Individual pruning ------------------------------------------------------------------------------------------


def text_threshold(theta: float, alpha: float, ssim_ub: float) -> float:
    """λ_T, Equation 2: a pair with a smaller TSim scores below theta (Lemma 1).

    With alpha = 1 words do not count: infinite if the place alone cannot reach theta, minus infinite if it can.
    """
    missing = theta - alpha * ssim_ub
    if alpha >= 1.0:
        return math.inf if missing > 0.0 else -math.inf
    return missing / (1.0 - alpha)


def wtsum(weights: Weights) -> NDArray[np.float64]:
    """Equation 3: at each place the sum of the weights from there on; one place more, for nothing left."""
    return np.append(np.cumsum(weights[::-1], dtype=np.float64)[::-1], 0.0)


def maxwt(weights: Weights) -> NDArray[np.float64]:
    """Equation 4: at each place the greatest weight from there on; one place more, for nothing left."""
    return np.append(np.maximum.accumulate(weights[::-1].astype(np.float64))[::-1], 0.0)


def lengths(weights: Weights) -> NDArray[np.float64]:
    """Ours: at each place the length of the vector of what comes from there on."""
    return np.sqrt(wtsum(weights.astype(np.float64) ** 2))


def location_prefix(weights: Weights, text_least: float) -> int:
    """pref(s|m), Definition 4: how many words of s, rare first, m must miss to be skipped (Lemmas 2 and 3).

    `text_least` is λ_T. A word belongs to the prefix if and only if `wtsum` from it on reaches λ_T.
    """
    return int(np.count_nonzero(wtsum(weights)[:-1] >= text_least))


def refined_prefix(own: Vector, other: Vector, text_least: float) -> int:
    """pref+(s|m), Definition 5: the same, but each word of m counts with the greatest weight still to come, not with 1.

    If no word of the prefix is common, the pair can be skipped (Theorem 1). With the two vectors exchanged it is
    pref+(m|s), Definition 9, which the group rules stand on (Lemma 4). Where m has no ψ[i + 1], its first word that is
    less rare takes that place: nothing before it can be common any more.
    """
    (terms, weights), (other_terms, other_weights) = own, other
    meets = np.searchsorted(-other_terms.astype(np.int64), -terms.astype(np.int64))
    return int(np.count_nonzero(wtsum(weights)[:-1] * maxwt(other_weights)[meets] >= text_least))


def unseen_bound(s_weights: Weights, i: int, m_weights: Weights, j: int) -> float:
    """TSimUB, Equation 5: the most that the words from place i of s and from place j of m on can add to TSim.

    What has been seen, plus this, below λ_T: the pair can be skipped (Theorem 2).
    """
    by_subscription = wtsum(s_weights)[i] * maxwt(m_weights)[j]
    by_message = wtsum(m_weights)[j] * maxwt(s_weights)[i]
    return float(min(by_subscription, by_message))


def length_bound(s_weights: Weights, i: int, m_weights: Weights, j: int) -> float:
    """Ours, for the same words: the product of the two tails' lengths (Cauchy-Schwarz)."""
    return float(lengths(s_weights)[i] * lengths(m_weights)[j])


# --- 5.2 Group pruning -----------------------------------------------------------------------------------------------


def theta_star(theta: float, alpha: float) -> float:
    """kScore* = kScore / (1 - alpha); infinite for alpha = 1."""
    return theta / (1.0 - alpha) if alpha < 1.0 else math.inf


def alpha_star(alpha: float) -> float:
    """alpha* = alpha / (1 - alpha); infinite for alpha = 1."""
    return alpha / (1.0 - alpha) if alpha < 1.0 else math.inf


def group_threshold(theta_stars: Weights, alpha_stars: Weights, ssim_out: float) -> float:
    """Theorem 3: at most the least λ_T of a group, from its least kScore* and its greatest alpha*.

    If the greatest maxwt(s.w) times wtsum(m.w) is below it, the whole group can be skipped at the word w (Lemma 5). A
    group with an alpha of 1 is never skipped by this form; the undivided one below knows no such case.
    """
    greatest = float(np.max(alpha_stars))
    return float(np.min(theta_stars)) - greatest * ssim_out if math.isfinite(greatest) else -math.inf


def early_stop(
    theta_stars: Weights, alpha_stars: Weights, maxwts: Weights, message_wtsum: float, ssim_out: float
) -> int:
    """ŝ, Theorem 4: the first place of a group, in order of kScore*, from on which nobody need be looked at.

    The statistics of Equations 6 and 7 are those of the rest of the group, so from ŝ on Theorem 3 holds everywhere: a
    binary search finds it. The group's length if there is no such place.
    """
    greatest_weight, greatest_alpha = maxwt(maxwts), maxwt(alpha_stars)
    low, high = 0, len(theta_stars)
    while low < high:
        middle = (low + high) // 2
        least = group_threshold(theta_stars[middle : middle + 1], greatest_alpha[middle : middle + 1], ssim_out)
        if greatest_weight[middle] * message_wtsum < least:
            high = middle
        else:
            low = middle + 1
    return low


def spatial_threshold(theta: float, alpha: float) -> float:
    """λ_S, Equation 8: with a smaller SSim even TSim = 1 misses theta.

    A cell whose least λ_S is above SSimUB_out can be skipped (Lemma 6). With alpha = 0 the place does not count:
    infinite if words alone cannot reach theta, minus infinite if they can.
    """
    missing = theta - (1.0 - alpha)
    if alpha <= 0.0:
        return math.inf if missing > 0.0 else -math.inf
    return missing / alpha


# --- The form that the kernels use -----------------------------------------------------------------------------------


def best_score(alpha: float, ssim_ub: float, tsim_ub: float) -> float:
    """The score of both bounds: below theta exactly where `tsim_ub` is below λ_T, without a division."""
    return alpha * ssim_ub + (1.0 - alpha) * tsim_ub


def best_of_range(low: float, high: float, ssim_ub: float, tsim_ub: float) -> float:
    """The same for all alphas from low to high: the score is linear in alpha, so one of the ends is highest."""
    return max(best_score(low, ssim_ub, tsim_ub), best_score(high, ssim_ub, tsim_ub))
