"""Why a message stands in a subscription's list, or does not: the parts of its score, word by word, and the rule that
turns it away.

`judge` walks dissemination's rules for one posting in the order of `kernels.disseminate.filter_candidates`, over the
same list, cell and group, by the definitions of `nearcast.bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.bounds import best_of_range, best_score, lengths, maxwt, wtsum
from nearcast.kernels import layout as at
from nearcast.kernels.brute import score_parts
from nearcast.kernels.layout import BLOCK, Messages, Policy, Postings, Subscriptions
from nearcast.kernels.postings import T_ID, T_PLACE
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
    "length": "the bound by lengths rejects it at {word!r}: that word and all that may follow bring the score to at "
    "most {best:.6g}, the threshold is {least:.6g}",
    "point": "its distance rejects it at {word!r}: at that distance it can score at most {best:.6g}, the threshold is "
    "{least:.6g}",
    "prefix": "{word!r} lies outside its location-aware prefix: the words from there on bring the score to at most "
    "{best:.6g}, the threshold is {least:.6g}",
    "unseen": "the bound for unseen keywords rejects it after {word!r}: the rest can bring the score to at most "
    "{best:.6g}, the threshold is {least:.6g}",
    "spatial": "its cell's distance rejects it: even with all words in common it can score at most {best:.6g}, the "
    "threshold is {least:.6g}",
    "score": "verification rejects it: it scores {best:.6g}, the threshold is {least:.6g}",
}
PASSED = "passed"


class Verdict(NamedTuple):
    """What dissemination makes of one posting: the rule that rejects it and the two numbers that it compares."""

    term: int
    rule: str  # a key of NOW, or PASSED
    best: float
    least: float


class Message(NamedTuple):
    """A message as it stands in the window, with what is left of its vector from each word on."""

    point: NDArray[np.float32]
    terms: NDArray[np.uint32]
    weights: NDArray[np.float32]
    total: NDArray[np.float64]  # wtsum
    most: NDArray[np.float64]  # maxwt
    length: NDArray[np.float64]


def verdicts(
    subscriptions: Subscriptions, postings: Postings, policy: Policy, messages: Messages, row: int, seq: int
) -> list[Verdict]:
    """The verdicts on a subscription's postings of all common words, rare first."""
    own = subscriptions.terms[terms_of(subscriptions, row)]
    slot = seq & at.SLOT_MASK
    theirs = messages.terms[span_of(messages, slot)]
    point, weights = messages.place[slot, :3].astype(np.float32), theirs[:, 1].copy().view(np.float32)
    message = Message(point, theirs[:, 0], weights, wtsum(weights), maxwt(weights), lengths(weights))
    _, mine, yours = np.intersect1d(own[:, T_ID], message.terms, assume_unique=True, return_indices=True)
    pairs = zip(own[mine[::-1], T_PLACE].tolist(), yours[::-1].tolist(), strict=True)
    return [judge(postings, policy, place, message, j) for place, j in pairs]


def terms_of(subscriptions: Subscriptions, row: int) -> slice:
    """Where a subscription's terms lie."""
    first = int(subscriptions.u32[row, at.S_TERMS])
    return slice(first, first + int(subscriptions.u32[row, at.S_NTERMS]))


def span_of(messages: Messages, slot: int) -> slice:
    """Where a message's terms lie."""
    span = int(messages.span[slot])
    first = span >> at.SPAN_BITS
    return slice(first, first + (span & ((1 << at.SPAN_BITS) - 1)))


def judge(postings: Postings, policy: Policy, place: int, message: Message, j: int) -> Verdict:
    """The verdict on the posting at this place of the list of the message's word j, as things stand now."""
    p, on, slack = postings, policy.switches, policy.slack
    term, weight = int(message.terms[j]), float(message.weights[j])
    head = p.lists[term].astype(np.int64)
    posting = int(head[at.L_START]) + place
    theta, alpha, own, rest = (float(value) for value in p.bound[: at.B_X, posting])
    after, most_after, to_border = (float(value) for value in p.paper[:, posting])
    near, inner = 1.0, 0.0
    if place < head[at.L_PACKED]:
        cells, first = int(head[at.L_CELLS]), int(head[at.L_ROWS])
        groups = p.rows_u32[first + cells : first + cells + int(head[at.L_GROUPS])]
        group = int(np.searchsorted(groups[:, at.G_FIRST], place, side="right")) - 1
        cell = first + int(np.searchsorted(p.rows_u32[first : first + cells, at.D_END], group, side="right"))
        if on[at.W_OUTER]:
            box = p.rows_f32[cell, at.D_BOX : at.D_BOX + 6]
            gaps = np.maximum(np.maximum(box[:3] - message.point, message.point - box[3:]), 0)
            chord = float(np.sqrt(np.sum(gaps * gaps)))
            near = max(0.0, 1.0 - chord / policy.world.max_dist)
            inner = to_border if on[at.W_INNER] and chord > policy.margin else 0.0
            least = float(p.rows_f32[cell, at.D_SPATIAL])
            if on[at.W_CELL] and near + slack < least:
                return Verdict(term, "cell", near, least)
        stats = [("group", on[at.W_GROUP], p.rows_f32[first + cells + group])]
        if place // BLOCK * BLOCK >= groups[group, at.G_FIRST]:
            stats.append(("early", on[at.W_EARLY], p.block[posting // BLOCK]))
        for rule, active, row in stats:
            best = best_of_group(row, near, weight, message, j, bool(on[at.W_LENGTH]))
            if active and best + slack < row[at.G_THETA]:
                return Verdict(term, rule, best, float(row[at.G_THETA]))
    by_prefix = float(message.most[j]) * (own + after)
    by_unseen = own * weight + min(after * float(message.most[j + 1]), float(message.total[j + 1]) * most_after)
    tests = [("prefix", on[at.W_PREFIX], near - inner, by_prefix), ("unseen", on[at.W_UNSEEN], near - inner, by_unseen)]
    if on[at.W_LENGTH]:
        by_length = own * weight + rest * float(message.length[j + 1])
        chord = float(np.linalg.norm(p.bound[at.B_X :, posting] - message.point))
        nearer = min(near, max(0.0, 1.0 - chord / policy.world.max_dist))
        tests[:0] = [("length", True, near, by_length), ("point", on[at.W_POINT], nearer, by_length)]
    else:
        tests.append(("spatial", not (on[at.W_PREFIX] or on[at.W_UNSEEN]), near - inner, 1.0))
    for rule, active, ssim, tsim in tests:
        best = best_score(alpha, ssim, tsim)
        if active and best + slack < theta:
            return Verdict(term, rule, best, theta)
    return Verdict(term, PASSED, best, theta)


def best_of_group(row: NDArray[Any], ssim: float, weight: float, message: Message, j: int, by_length: bool) -> float:
    """The highest score that anyone of a group, or of the rest of one, can give the message (Theorems 3 and 4)."""
    text = float(row[at.G_MAX]) * float(message.total[j])
    if by_length:
        text = min(text, float(row[at.G_WEIGHT]) * weight + float(row[at.G_REST]) * float(message.length[j + 1]))
    return best_of_range(float(row[at.G_LOW]), float(row[at.G_HIGH]), ssim, text)


def reason(
    subscriptions: Subscriptions,
    postings: Postings,
    policy: Policy,
    messages: Messages,
    buffer: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    row: int,
    seq: int,
    word: Callable[[int], str],
) -> str:
    """Why a live message is not in the list: what becomes of it now, in one sentence ("" without a common word).

    `buffer` holds scores, messages and dominance counters, best first.
    """
    found = verdicts(subscriptions, postings, policy, messages, row, seq)
    if not found:
        return ""
    scores, seqs, dominators = buffer
    k, theta = int(subscriptions.u32[row, at.S_K]), float(subscriptions.f32[row, at.S_THETA])
    if seq in seqs:
        place = int(np.flatnonzero(seqs == seq)[0])
        return (
            f"it waits in the buffer at place {place + 1} of {len(seqs)}, of which the first {k} are the list; "
            f"{dominators[place]} newer messages score as high or higher, and {k} would drop it"
        )
    score = score_of(subscriptions, policy, messages, row, seq)
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


def score_of(subscriptions: Subscriptions, policy: Policy, messages: Messages, row: int, seq: int) -> float:
    """The exact score, by everybody's score function."""
    own = subscriptions.terms[terms_of(subscriptions, row)]
    theirs = messages.terms[span_of(messages, seq & at.SLOT_MASK)]
    vectors = [(part[:, 0].copy(), part[:, 1].copy().view(np.float32)) for part in (own, theirs)]
    point, place = subscriptions.f64[row, :3], messages.place[seq & at.SLOT_MASK, :3]
    alpha = subscriptions.f32[row, at.S_ALPHA]
    world = policy.world
    return float(score_parts(world.radius, world.max_dist, alpha, point, *vectors[0], place, *vectors[1])[2])


def common(s_vector: Vector, m_vector: Vector) -> list[tuple[int, float, float]]:
    """Common terms with both weights, the one with the greatest product first."""
    theirs = dict(zip(m_vector[0].tolist(), m_vector[1].tolist(), strict=True))
    pairs = zip(s_vector[0].tolist(), s_vector[1].tolist(), strict=True)
    matched = [(term, weight, theirs[term]) for term, weight in pairs if term in theirs]
    return sorted(matched, key=lambda match: -match[1] * match[2])
