"""Why a message stands in a subscription's list, or does not: the parts of its score, word by word, and the rule that
turns it away.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearcast.judgement import PASSED, State, Verdict, span_of, terms_of, verdicts
from nearcast.kernels import layout as at
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


# --- Which rule turns a message away ----------------------------------------------------------------------------------

NOW = {
    "cell": "cell pruning skips its cell at {word!r}: nothing in it takes a message of a spatial similarity below "
    "{least:.6g}, and to that cell this one has at most {best:.6g}",
    "group": "group pruning skips its group at {word!r}: this message scores at most {best:.6g} with any of the group, "
    "whose least threshold is {least:.6g}",
    "early": "early termination stops before it at {word!r}: from there on this message scores at most {best:.6g} with "
    "any of the group, and the least threshold is {least:.6g}",
    "run": "the header of its 32 blocks skips it at {word!r}: words bring any of them at most {best:.6g}, and at that "
    "distance they all ask for at least {least:.6g}",
    "block": "the header of its block skips it at {word!r}: words bring any of its block at most {best:.6g}, and at "
    "that distance they all ask for at least {least:.6g}",
    "length": "the bound by lengths rejects it at {word!r}: even at the same place, that word and all that may follow "
    "bring the score to at most {best:.6g}, the threshold is {least:.6g}",
    "point": "its distance rejects it at {word!r}: that far away it can score at most {best:.6g}, the threshold is "
    "{least:.6g}",
    "prefix": "{word!r} lies outside its location-aware prefix: the words from there on bring the score to at most "
    "{best:.6g}, the threshold is {least:.6g}",
    "unseen": "the bound for unseen keywords rejects it after {word!r}: the rest can bring the score to at most "
    "{best:.6g}, the threshold is {least:.6g}",
    "spatial": "its cell's distance rejects it: even with all words in common it can score at most {best:.6g}, the "
    "threshold is {least:.6g}",
    "signature": "the words that it may have in common after {word!r} bring too little: with them the score is at most "
    "{best:.6g}, the threshold is {least:.6g}",
    "score": "verification rejects it: it scores {best:.6g}, the threshold is {least:.6g}",
}


def reason(
    state: State,
    buffer: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    row: int,
    seq: int,
    word: Callable[[int], str],
) -> str:
    """Why a live message is not in the list: what becomes of it now, in one sentence ("" without a common word).

    `buffer` holds scores, messages and dominance counters, best first.
    """
    found = verdicts(state, row, seq)
    if not found:
        return ""
    scores, seqs, dominators = buffer
    k, theta = int(state.subscriptions.u32[row, at.S_K]), float(state.subscriptions.f32[row, at.S_THETA])
    if seq in seqs:
        place = int(np.flatnonzero(seqs == seq)[0])
        return (
            f"it waits in the buffer at place {place + 1} of {len(seqs)}, of which the first {k} are the list; "
            f"{dominators[place]} newer messages score as high or higher, and {k} would drop it"
        )
    score = score_of(state, row, seq)
    if score >= theta:
        newer = int(np.count_nonzero((scores >= np.float32(score)) & (seqs > seq)))
        return (
            f"it was dropped from the buffer: {newer} newer messages there score as high or higher, and {k} are enough"
        )
    verdict = found[0]
    if any(each.rule == PASSED for each in found):
        verdict = Verdict(verdict.term, "score", score, theta)
    numbers = NOW[verdict.rule].format(word=word(verdict.term), best=verdict.best, least=verdict.least)
    return f"if it came now, {numbers}"


def score_of(state: State, row: int, seq: int) -> float:
    """The exact score, by everybody's score function."""
    subscriptions, messages, world = state.subscriptions, state.messages, state.policy.world
    own = subscriptions.terms[terms_of(subscriptions, row)]
    theirs = messages.terms[span_of(messages, seq & at.SLOT_MASK)]
    vectors = [(part[:, 0].copy(), part[:, 1].copy().view(np.float32)) for part in (own, theirs)]
    point, place = subscriptions.f64[row, :3], messages.place[seq & at.SLOT_MASK, :3]
    alpha = subscriptions.f32[row, at.S_ALPHA]
    return float(score_parts(world.radius, world.max_dist, alpha, point, *vectors[0], place, *vectors[1])[2])


def common(s_vector: Vector, m_vector: Vector) -> list[tuple[int, float, float]]:
    """Common terms with both weights, the one with the greatest product first."""
    theirs = dict(zip(m_vector[0].tolist(), m_vector[1].tolist(), strict=True))
    pairs = zip(s_vector[0].tolist(), s_vector[1].tolist(), strict=True)
    matched = [(term, weight, theirs[term]) for term, weight in pairs if term in theirs]
    return sorted(matched, key=lambda match: -match[1] * match[2])
