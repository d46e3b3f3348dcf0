"""Which rule turns a message away from a subscription: dissemination's rules for one posting after the other.

`judge` walks them in the order of `kernels.disseminate`, over the same list, cell, group or block, by the definitions
of `nearcast.bounds`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.bounds import best_of_range, lengths, maxwt, wtsum
from nearcast.kernels import layout as at
from nearcast.kernels.compact import GRID_ERROR, LINES, NEEDS, SHARE
from nearcast.kernels.geometry import World
from nearcast.kernels.layout import BLOCK, Messages, Policy, Postings, Subscriptions
from nearcast.kernels.postings import T_ID, T_PLACE
from nearcast.kernels.signatures import GOLDEN, PRINTS

PASSED = "passed"


class Verdict(NamedTuple):
    """What dissemination makes of one posting: the rule that rejects it and the two numbers that it compares."""

    term: int
    rule: str  # a key of `explanation.NOW`, or PASSED
    best: float
    least: float


class State(NamedTuple):
    """What an engine decides by: of one shard, and of the window."""

    subscriptions: Subscriptions
    postings: Postings
    policy: Policy
    messages: Messages


class Message(NamedTuple):
    """A message as it stands in the window, with what is left of its vector from each word on."""

    point: NDArray[np.float32]
    grid: NDArray[np.float64]  # the same in grid steps (see `kernels.compact`)
    terms: NDArray[np.uint32]
    weights: NDArray[np.float32]
    total: NDArray[np.float64]  # wtsum
    most: NDArray[np.float64]  # maxwt
    length: NDArray[np.float64]
    prints: NDArray[np.int64]  # its words' fingerprints
    light: NDArray[np.bool_]  # words of little weight (see `kernels.disseminate.read_words`)


def verdicts(state: State, row: int, seq: int) -> list[Verdict]:
    """The verdicts on a subscription's postings of all common words, rare first."""
    own = state.subscriptions.terms[terms_of(state.subscriptions, row)]
    slot = seq & at.SLOT_MASK
    theirs = state.messages.terms[span_of(state.messages, slot)]
    point, weights = state.messages.place[slot, :3].astype(np.float32), theirs[:, 1].copy().view(np.float32)
    world = state.policy.world
    grid = (state.messages.place[slot, :3] + world.radius) / grid_step_of(world)
    prints = (theirs[:, 0].astype(np.int64) * GOLDEN & 0xFFFFFFFF) >> 24
    light = 2.0 * len(weights) * weights.astype(np.float64) ** 2 < 1.0
    tails = wtsum(weights), maxwt(weights), lengths(weights)
    message = Message(point, grid, theirs[:, 0], weights, *tails, prints, light)
    _, mine, yours = np.intersect1d(own[:, T_ID], message.terms, assume_unique=True, return_indices=True)
    pairs = zip(own[mine[::-1], T_PLACE].tolist(), yours[::-1].tolist(), strict=True)
    return [judge(state, message, row, place, j) for place, j in pairs]


def terms_of(subscriptions: Subscriptions, row: int) -> slice:
    """Where a subscription's terms lie."""
    first = int(subscriptions.u32[row, at.S_TERMS])
    return slice(first, first + int(subscriptions.u32[row, at.S_NTERMS]))


def span_of(messages: Messages, slot: int) -> slice:
    """Where a message's terms lie."""
    span = int(messages.span[slot])
    first = span >> at.SPAN_BITS
    return slice(first, first + (span & ((1 << at.SPAN_BITS) - 1)))


class Posting(NamedTuple):
    """One posting as dissemination meets it: a word of the message, and what stands in the word's list."""

    head: NDArray[np.int64]
    place: int
    at: int  # in the arrays of postings
    j: int
    theta: float
    alpha: float


def judge(state: State, message: Message, row: int, place: int, j: int) -> Verdict:
    """The verdict on the posting at this place of the list of the message's word j, as things stand now."""
    s, p = state.subscriptions, state.postings
    head = p.lists[message.terms[j]].astype(np.int64)
    theta, alpha = float(s.f32[row, at.S_THETA]), float(s.f32[row, at.S_ALPHA])
    posting = Posting(head, place, int(head[at.L_START]) + place, j, theta, alpha)
    outer = inner = 0.0
    verdict = None
    if head[at.L_CELLS] > 0:
        if place < head[at.L_PACKED]:
            verdict, outer, inner = judge_cell(state, message, posting)
    elif head[at.L_CAPACITY] > BLOCK:
        verdict = judge_blocks(state, message, posting)
    return verdict or judge_alone(state, message, posting, outer, inner)


def judge_cell(state: State, message: Message, posting: Posting) -> tuple[Verdict | None, float, float]:
    """In the paper's order: its cell, its group and the rest of the group; outer and inner distance, in MaxDist."""
    p, on, slack = state.postings, state.policy.switches, state.policy.slack
    head, place, term = posting.head, posting.place, int(message.terms[posting.j])
    first = int(head[at.L_ROWS])
    rows = first + int(head[at.L_CELLS])
    groups = p.rows_u32[rows : rows + int(head[at.L_GROUPS])]
    group = int(np.searchsorted(groups[:, at.G_FIRST], place, side="right")) - 1
    cell = first + int(np.searchsorted(p.rows_u32[first:rows, at.D_END], group, side="right"))
    max_dist = state.policy.world.max_dist
    outer = chord_to(p.rows_f32[cell, at.D_BOX : at.D_BOX + 6], message.point) if on[at.W_OUTER] else 0.0
    inner = float(p.paper[at.P_INNER, posting.at]) if on[at.W_INNER] and outer > state.policy.margin else 0.0
    outer, inner = outer / max_dist, inner / max_dist
    near = max(0.0, 1.0 - outer)
    least = float(p.rows_f32[cell, at.D_SPATIAL])
    if on[at.W_CELL] and near + slack < least:
        return Verdict(term, "cell", near, least), outer, inner
    stats = [("group", on[at.W_GROUP], p.rows_f32[rows + group])]
    if place // BLOCK * BLOCK >= groups[group, at.G_FIRST]:
        stats.append(("early", on[at.W_EARLY], p.suffix[posting.at // BLOCK]))
    for rule, active, row in stats:
        best = best_of_group(row, near, message, posting.j, bool(on[at.W_LENGTH]))
        if active and best + slack < row[at.G_THETA]:
            return Verdict(term, rule, best, float(row[at.G_THETA])), outer, inner
    return None, outer, inner


def best_of_group(row: NDArray[Any], ssim: float, message: Message, j: int, by_length: bool) -> float:
    """The highest score that anyone of a group, or of the rest of one, can give the message (Theorems 3 and 4)."""
    text = float(row[at.G_MAX]) * float(message.total[j])
    if by_length:
        rest = float(row[at.G_REST]) * float(message.length[j + 1])
        text = min(text, float(row[at.G_WEIGHT]) * float(message.weights[j]) + rest)
    return best_of_range(float(row[at.G_LOW]), float(row[at.G_HIGH]), ssim, text)


def judge_blocks(state: State, message: Message, posting: Posting) -> Verdict | None:
    """In our order: the header of its run of 32 blocks, then of its block (see `kernels.layout`)."""
    p, on, j = state.postings, state.policy.switches, posting.j
    headers = [("block", on[at.W_GROUP], p.block[posting.at // at.CELL, :, posting.at // BLOCK % BLOCK])]
    if posting.head[at.L_CAPACITY] >= at.CELL:
        headers.insert(0, ("run", on[at.W_CELL], p.cell[posting.at // at.CELL]))
    for rule, active, row in headers:
        reach = reach_of(state, chord_to(row[at.K_BOX : at.K_BOX + 6], message.grid)) if on[at.W_OUTER] else 0.0
        rest = min(float(message.length[j + 1]), few(float(row[at.K_LATER]), message, j))
        brought = float(row[at.K_TASTE]) * float(message.weights[j]) + float(row[at.K_REST]) * rest
        asked = float(row[at.K_NEED]) + float(row[at.K_FAR]) * reach
        if active and on[at.W_LENGTH] and brought + state.policy.slack < asked:
            return Verdict(int(message.terms[j]), rule, brought, asked)
    return None


class Bound(NamedTuple):
    """What a posting's codes stand for (see `kernels.compact`)."""

    taste: float
    rest: float
    need: float
    far: float
    grid: NDArray[np.float64]
    after: int
    prints: list[int]

    @classmethod
    def of(cls, p: Postings, place: int) -> Bound:
        """Read one posting."""
        block, lane = divmod(place, BLOCK)
        eights, halves = p.eights[block, lane::BLOCK], p.halves[block, lane::BLOCK]
        taste, rest, far, after = (
            int(eights[column // BLOCK]) for column in (at.Q_TASTE, at.Q_REST, at.Q_FAR, at.Q_LATER)
        )
        grid = halves[at.H_X // BLOCK : at.H_X // BLOCK + 3].astype(np.float64)
        need = int(halves[at.H_NEED // BLOCK]) / NEEDS - 1.0
        prints = int(p.words[block, at.O_LATER + lane])
        return cls(
            taste / SHARE, rest / SHARE, need, far / SHARE, grid, after, [prints >> 8 * i & 255 for i in range(4)]
        )


Test = tuple[str, bool, float, float]
"""A rule, whether it is on, the least distance in MaxDist and the most that text can bring to the score by it."""


def judge_alone(state: State, message: Message, posting: Posting, outer: float, inner: float) -> Verdict:
    """The tests that each posting makes by itself, with what its cell says about distance."""
    p, on = state.postings, state.policy.switches
    bound = Bound.of(p, posting.at)
    term = int(message.terms[posting.j])
    tests = []
    if p.paper.size:
        tests = judge_by_keywords(state, message, posting, bound, outer + inner)
    if on[at.W_LENGTH]:
        chord = float(np.linalg.norm(bound.grid - message.grid)) if on[at.W_POINT] else 0.0
        tests[:0] = judge_by_length(state, message, posting.j, bound, max(reach_of(state, chord), outer))
    else:
        tests.insert(0, ("spatial", True, outer + inner, 1.0 - bound.far))
    best, least = 0.0, bound.need + posting.alpha
    for rule, active, reach, text in tests:
        best = text + posting.alpha - bound.far * min(reach, 1.0)
        if active and best + state.policy.slack < least:
            return Verdict(term, rule, best + posting.theta - least, posting.theta)
    return Verdict(term, PASSED, best + posting.theta - least, posting.theta)


def judge_by_length(state: State, message: Message, j: int, bound: Bound, reach: float) -> list[Test]:
    """Our own rules: the first test, and the second look at those that may have a later keyword in common."""
    own = bound.taste * float(message.weights[j])
    after = slice(j + 1, None)
    squares = message.weights[after].astype(np.float64) ** 2
    bits, light = message.prints[after] >> 3, message.light[after]
    most = min(float(message.length[j + 1]), few(bound.after, message, j))
    if bound.after <= PRINTS:
        common = np.isin(bits, [each >> 3 for each in bound.prints])
        if not common.any():
            most = 0.0
        elif not (common & ~light).any():
            most = min(most, math.sqrt(squares[light].sum()))
    elif light.all():
        most = min(most, math.sqrt(squares.sum()))
    text = own + bound.rest * most
    tests: list[Test] = [("length", True, 0.0, text), ("point", True, reach, text)]
    if bound.after in range(1, PRINTS + 1):
        shared = sum(float(squares[message.prints[after] == each].sum()) for each in bound.prints[: bound.after])
        tests.append(
            ("signature", bool(state.policy.switches[at.W_SIGNATURE]), reach, own + bound.rest * math.sqrt(shared))
        )
    return tests


def judge_by_keywords(state: State, message: Message, posting: Posting, bound: Bound, reach: float) -> list[Test]:
    """The paper's rules for single postings (5.1)."""
    p, on, j = state.postings, state.policy.switches, posting.j
    share = 1.0 - bound.far
    after, most_after = (float(value) for value in p.paper[[at.P_SUM, at.P_MAX], posting.at])
    by_prefix = float(message.most[j]) * (bound.taste + share * after)
    unseen = min(after * float(message.most[j + 1]), float(message.total[j + 1]) * most_after)
    by_unseen = bound.taste * float(message.weights[j]) + share * unseen
    return [("prefix", bool(on[at.W_PREFIX]), reach, by_prefix), ("unseen", bool(on[at.W_UNSEEN]), reach, by_unseen)]


def few(after: float, message: Message, j: int) -> float:
    """The most that `after` of the message's words after j can be long (see `kernels.visit.rest_of_few`)."""
    return 0.5 * (1.0 + after) * float(message.most[j + 1])


def grid_step_of(world: World) -> float:
    """The distance between two grid lines (see `kernels.compact.grid_step`)."""
    side = 2.0 * world.radius if world.radius > 0.0 else max(world.xmax - world.xmin, world.ymax - world.ymin)
    return side / LINES


def reach_of(state: State, steps: float) -> float:
    """The least distance, in MaxDist, that so many grid steps stand for."""
    world = state.policy.world
    return min(1.0, max(0.0, steps - float(GRID_ERROR)) * grid_step_of(world) / world.max_dist)


def chord_to(box: NDArray[Any], point: NDArray[Any]) -> float:
    """The straight distance from a point to a box (see `kernels.geometry.box_chord`)."""
    return float(np.linalg.norm(np.maximum(np.maximum(box[:3] - point, point - box[3:]), 0)))
