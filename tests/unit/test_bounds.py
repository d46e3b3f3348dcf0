"""The paper's bounds: none of them ever skips a pair that scores enough, and the kernels do what they say.

`bounds` is held to exact scores, and through `explain`'s verdicts the kernels are held to `bounds`: published a second
time, a message must move every counter by just as many postings as the verdicts on the first one say.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Literal, NamedTuple

import numpy as np
import pytest

from nearcast import bounds as b
from nearcast.engine import Engine
from nearcast.explanation import NOW
from nearcast.judgement import PASSED, State, verdicts
from nearcast.kernels import layout
from nearcast.kernels.geometry import boundary_distance, rect_distance
from nearcast.model import last
from nearcast.reference import ReferenceEngine
from nearcast.space import Space, earth, plane
from nearcast.tuning import Pruning, Tuning

WORDS = 14
UNIT = 2.0**-24
SPACES = {"plane": plane(-3.0, 10.0, 5.0, 14.0), "earth": earth(), "earth 9000 km": earth(max_km=9000)}


class Pair(NamedTuple):
    """A subscription, a message, their exact score and a threshold near it."""

    s: b.Vector
    m: b.Vector
    alpha: float
    ssim: float
    tsim: float
    score: float
    theta: float


def random_vector(
    rng: np.random.Generator, most: int, word: int | None = None, without: Collection[int] = ()
) -> b.Vector:
    """Terms descending; weights of unit length, rounded to multiples of 2**-24, now and then very unequal."""
    chosen = set(rng.choice(WORDS, rng.integers(1, most + 1), replace=False).tolist()) - set(without)
    chosen |= set() if word is None else {word}
    terms = np.array(sorted(chosen, reverse=True), np.uint32)
    raw = rng.random(len(terms)) ** rng.choice([1, 8]) + 1e-9
    weights = np.maximum(np.rint(raw / np.linalg.norm(raw) / UNIT), 1) * UNIT
    return terms, weights.astype(np.float32)


def common(own: b.Vector, other: b.Vector) -> list[tuple[int, int]]:
    """Places of common words in both, rare first."""
    places = {term: j for j, term in enumerate(other[0].tolist())}
    return [(i, places[term]) for i, term in enumerate(own[0].tolist()) if term in places]


def random_alpha(rng: np.random.Generator) -> float:
    return float(np.float32(rng.choice([0.0, 1.0, 1.0 - 2.0**-24, 1e-7, *rng.random(8)])))


def random_pair(rng: np.random.Generator, ssim: float | None = None) -> Pair:
    """Matching, with a threshold that is equal to the score, or somewhere around it."""
    while True:
        s, m = random_vector(rng, 8), random_vector(rng, 10)
        both = common(s, m)
        if both:
            break
    tsim = math.fsum(float(s[1][i]) * float(m[1][j]) for i, j in both)
    alpha = random_alpha(rng)
    ssim = float(rng.choice([0.0, 1.0, rng.random()])) if ssim is None else ssim
    score = float(np.float32(b.best_score(alpha, ssim, tsim)))
    off = rng.choice([0.0, rng.random(), rng.random() * 0.1, -rng.random() * 0.1])
    return Pair(s, m, alpha, ssim, tsim, score, float(np.float32(max(0.0, score + off))))


def skips(pair: Pair, ssim_ub: float, slack: float = b.SLACK) -> dict[str, bool]:
    """Whether each of the paper's rules for one pair skips it, given a bound on its SSim."""
    least = b.text_threshold(pair.theta - slack, pair.alpha, ssim_ub)
    s, m = pair.s, pair.m
    both = common(s, m)
    i, j = both[0]
    seen = float(s[1][i]) * float(m[1][j])
    longest = b.location_prefix(s[1], least)
    refined, theirs = b.refined_prefix(s, m, least), b.refined_prefix(m, s, least)
    assert refined <= longest
    return {
        "Lemma 1": pair.tsim < least,
        "Lemma 2": all(i >= longest for i, _ in both),
        "Lemma 3": all(b.wtsum(s[1])[i] < least for i, _ in both),
        "Theorem 1": all(i >= refined for i, _ in both),
        "Lemma 4": all(j >= theirs for _, j in both),
        "Theorem 2": seen + b.unseen_bound(s[1], i + 1, m[1], j + 1) < least,
        "lengths": seen + b.length_bound(s[1], i + 1, m[1], j + 1) < least,
        "Lemma 6": b.spatial_threshold(pair.theta - slack, pair.alpha) > ssim_ub,
        "undivided": b.best_score(pair.alpha, ssim_ub, pair.tsim) < pair.theta - slack,
    }


# --- The bounds are safe ---------------------------------------------------------------------------------------------


def test_no_rule_skips_a_pair_that_scores_enough(rng: np.random.Generator) -> None:
    saved: Counter[str] = Counter()
    for _ in range(6000):
        pair = random_pair(rng)
        ssim_ub = min(1.0, pair.ssim + float(rng.choice([0.0, 1e-9, rng.random() * 0.3])))
        for rule, skipped in skips(pair, ssim_ub).items():
            assert not (skipped and pair.score >= pair.theta), (rule, pair, ssim_ub)
            saved[rule] += skipped
    assert min(saved.values()) > 100, saved  # each rule does something
    assert saved["Lemma 2"] == saved["Lemma 3"]  # they say the same
    assert saved["Theorem 1"] > saved["Lemma 3"]  # the refinement is one


def test_slack_is_needed() -> None:
    """In real numbers a score can be below the float32 that it is rounded to."""
    rng = np.random.default_rng(3)
    lost = 0
    for _ in range(3000):
        pair = random_pair(rng)._replace(theta=0.0)
        pair = pair._replace(theta=pair.score)
        lost += skips(pair, pair.ssim, slack=0.0)["Lemma 1"]
        assert not any(skips(pair, pair.ssim).values())
    assert lost > 0


def test_the_divided_and_the_undivided_form_agree(rng: np.random.Generator) -> None:
    for _ in range(3000):
        pair = random_pair(rng)
        ssim_ub = float(rng.random())
        least = b.text_threshold(pair.theta, pair.alpha, ssim_ub)
        gap = b.best_score(pair.alpha, ssim_ub, pair.tsim) - pair.theta
        if abs(gap) > 1e-9:
            assert (pair.tsim < least) == (gap < 0), pair


def test_an_alpha_of_0_or_1() -> None:
    """What the paper divides by."""
    assert b.text_threshold(0.5, 1.0, 0.4) == math.inf
    assert b.text_threshold(0.5, 1.0, 0.5) == -math.inf
    assert b.text_threshold(0.5, 0.0, 0.1) == 0.5
    assert b.spatial_threshold(0.9, 0.0) == -math.inf
    assert b.spatial_threshold(1.1, 0.0) == math.inf
    assert b.spatial_threshold(0.9, 1.0) == 0.9
    assert (b.theta_star(0.5, 1.0), b.alpha_star(1.0)) == (math.inf, math.inf)
    assert b.group_threshold(np.array([1.0, math.inf]), np.array([0.5, math.inf]), 0.5) == -math.inf


def test_suffix_statistics() -> None:
    weights = np.array([0.25, 0.5, 0.125], np.float32)
    assert b.wtsum(weights).tolist() == [0.875, 0.625, 0.125, 0.0]
    assert b.maxwt(weights).tolist() == [0.5, 0.5, 0.125, 0.0]
    assert b.lengths(weights).tolist() == [math.sqrt(0.328125), math.sqrt(0.265625), 0.125, 0.0]
    assert b.location_prefix(weights, 0.625) == 2
    assert b.location_prefix(weights, 1.0) == 0
    assert b.location_prefix(weights, -math.inf) == 3


def test_a_prefix_counts_up_to_the_definition_s_position(rng: np.random.Generator) -> None:
    """Definitions 4, 5 and 9 literally: the smallest p with a bound below λ_T for what follows."""
    for _ in range(2000):
        s, m = random_vector(rng, 8), random_vector(rng, 10)
        least = float(rng.random())
        after = [sum(s[1][p:].astype(float)) for p in range(len(s[0]) + 1)]
        assert b.location_prefix(s[1], least) == next(p for p, rest in enumerate(after) if rest < least)
        for own, other in ((s, m), (m, s)):
            after = [sum(own[1][p:].astype(float)) for p in range(len(own[0]) + 1)]
            for p, term in enumerate(own[0].tolist()):
                after[p] *= max(other[1][other[0] <= term], default=0.0)
            assert b.refined_prefix(own, other, least) == next(p for p, rest in enumerate(after) if rest < least)


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_spatial_bounds_and_what_is_built_on_them(space: Space, rng: np.random.Generator) -> None:
    """Definitions 6 to 8 for real cells and places, and all rules with them."""
    world = space.world
    saved = 0
    for _ in range(1500):
        (sx, mx), (sy, my) = rng.uniform(world.xmin, world.xmax, 2), rng.uniform(world.ymin, world.ymax, 2)
        level = int(rng.integers(0, 7))
        rect = space.cell_rect(int(space.morton(sx, sy)[0]) >> (32 - 2 * level), level)
        inner, outer = boundary_distance(world, sx, sy, *rect), rect_distance(world, mx, my, *rect)
        pair = random_pair(rng, float(space.ssim(sx, sy, mx, my)[0]))
        of_both = b.combined_bound(world.max_dist, inner, outer)
        assert b.outer_bound(world.max_dist, outer) >= of_both >= pair.ssim
        if outer > 0.0:
            assert b.inner_bound(world.max_dist, inner) >= of_both
        skipped = skips(pair, of_both)
        assert not (any(skipped.values()) and pair.score >= pair.theta), (skipped, pair)
        saved += any(skipped.values())
    assert saved > 100


def test_group_rules(rng: np.random.Generator) -> None:
    """Theorems 3 and 4, Lemma 6: nobody in a skipped group, after ŝ or in a skipped cell scores enough."""
    saved: Counter[str] = Counter()
    for _ in range(1500):
        m = random_vector(rng, 10)
        at = int(rng.integers(len(m[0])))
        word, rarer = int(m[0][at]), m[0][:at].tolist()
        ssim_out, (center, width) = float(rng.random()), rng.random(2)
        lifts = [[0.0, 1.0], [0.5, 1.0]][int(rng.integers(2))]
        group: list[tuple[float, Pair, float]] = []
        for _ in range(8):  # subscriptions whose first common word with m is this
            s = random_vector(rng, 8, word, rarer)
            ssim = ssim_out * float(rng.choice([1.0, rng.random()]))
            alpha = float(np.float32(np.clip(center + 0.1 * width * rng.normal(), 0.0, 1.0)))
            tsim = math.fsum(float(s[1][i]) * float(m[1][j]) for i, j in common(s, m))
            score = float(np.float32(b.best_score(alpha, ssim, tsim)))
            theta = score + float(rng.choice(lifts)) * float(rng.random()) ** 0.3
            pair = Pair(s, m, alpha, ssim, tsim, score, theta)
            group.append((b.theta_star(theta - b.SLACK, alpha), pair, b.maxwt(s[1])[common(s, m)[0][0]]))
        group.sort(key=lambda member: member[0])
        stars = np.array([star for star, _, _ in group])
        alphas = np.array([b.alpha_star(pair.alpha) for _, pair, _ in group])
        weights = np.array([weight for _, _, weight in group])
        enough = np.array([pair.score >= pair.theta for _, pair, _ in group])
        total = float(b.wtsum(m[1])[at])
        whole = weights.max() * total < b.group_threshold(stars, alphas, ssim_out)
        stop = b.early_stop(stars, alphas, weights, total, ssim_out)
        holds = [
            weights[i:].max() * total < b.group_threshold(stars[i:], alphas[i:], ssim_out) for i in range(len(group))
        ]
        assert stop == (holds.index(True) if True in holds else len(group))
        assert (stop == 0) == whole
        assert not enough[stop:].any(), (m, ssim_out, group)
        spread = [pair.alpha for _, pair, _ in group]
        highest = b.best_of_range(min(spread), max(spread), ssim_out, 0.3)
        assert highest == max(b.best_score(alpha, ssim_out, 0.3) for alpha in spread)
        cell = min(b.spatial_threshold(pair.theta - b.SLACK, pair.alpha) for _, pair, _ in group) > ssim_out
        assert not (cell and enough.any())
        saved += Counter(group=whole, early=stop < len(group), cell=cell)
    assert min(saved[rule] for rule in ("group", "early", "cell")) > 20, saved


# --- The kernels do what the bounds say ------------------------------------------------------------------------------

OFF = dict.fromkeys((field.name for field in fields(Pruning)), False)
ALONE = {
    # rule: its switch and those that it needs, order of the lists, cell limit
    "cell": (("cell", "outer"), "paper", 4),
    "group": (("group", "outer"), "paper", 400),
    "early": (("early", "outer"), "paper", 400),
    "prefix": (("prefix",), "paper", 40),
    "unseen": (("unseen",), "paper", 40),
    "length": (("length",), "paper", 40),
    "point": (("point", "length"), "blocks", 40),
    "signature": (("signature", "length"), "blocks", 40),
    "block": (("group", "length", "outer"), "blocks", 40),
}
COUNTED = {
    layout.N_POSTINGS_CELL: ("cell", "run"),
    layout.N_POSTINGS_GROUP: ("group", "block"),
    layout.N_POSTINGS_EARLY: ("early",),
    layout.N_PREFIX: ("prefix",),
    layout.N_UNSEEN: ("unseen",),
    layout.N_LENGTH: ("length",),
    layout.N_POINT: ("point",),
    layout.N_SIGNATURE: ("signature",),
}
SETTINGS = {
    rule: Tuning(pruning=Pruning(**OFF | dict.fromkeys(on, True)), order=order, cell_limit=limit, alpha_groups=3)
    for rule, (on, order, limit) in ALONE.items()
}
SETTINGS |= {
    "none": Tuning(pruning=Pruning(**OFF), order="paper", cell_limit=40),
    "none, blocks": Tuning(pruning=Pruning(**OFF)),
    "outer": Tuning(pruning=Pruning(**OFF | {"outer": True}), order="paper", cell_limit=4),
    "outer, inner": Tuning(pruning=Pruning(**OFF | {"outer": True, "inner": True}), order="paper", cell_limit=40),
    "the paper's": Tuning(pruning=Pruning(length=False, point=False), order="paper", cell_limit=40, alpha_groups=3),
    "all": Tuning(order="paper", cell_limit=40, alpha_groups=3),
    "all, small cells": Tuning(order="paper", cell_limit=4, alpha_groups=3),
    "all, large cells": Tuning(order="paper", cell_limit=400, alpha_groups=3),
    "all, blocks": Tuning(),
}


class Stream:
    """A few hundred subscriptions and messages of few words, the same for every engine of a seed."""

    def __init__(self, seed: int, vocabulary: int = 9) -> None:
        self.vocabulary = vocabulary
        self.rng = np.random.default_rng([seed, 77])
        self.space = plane(0, 0, 10, 6)
        self.centers = self.rng.uniform(0, 1, (4, 2))

    def words(self, most: int) -> dict[str, float]:
        chosen = self.rng.choice(self.vocabulary, self.rng.integers(1, min(most, self.vocabulary) + 1), replace=False)
        return {f"w{word}": float(self.rng.choice([1, 1, 2, 7])) for word in chosen}

    def place(self) -> tuple[float, float]:
        x, y = np.clip(self.rng.choice(self.centers) + self.rng.normal(0, 0.08, 2), 0, 1)
        return float(10 * x), float(6 * y)

    def message(self) -> tuple[dict[str, float], tuple[float, float]]:
        return self.words(6), self.place()

    def register(self, engines: list[Engine | ReferenceEngine], count: int, alphas: Sequence[float] = ()) -> None:
        for number in range(count):
            alpha = float(self.rng.choice(alphas or [0.0, 1.0, *self.rng.random(6)]))
            settings = {"at": self.place(), "k": int(self.rng.integers(1, 4)), "alpha": alpha}
            words = self.words(4)
            for engine in engines:
                engine.subscribe(f"s{number}", words, **settings)

    def publish(self, engines: list[Engine | ReferenceEngine], count: int) -> None:
        for _ in range(count):
            words, at = self.message()
            for engine in engines:
                engine.publish(words, at=at, time=0)


def counters(engine: Engine) -> np.ndarray:
    return np.sum([shard.counters for shard in engine._shards], axis=0)


def verdicts_of(engine: Engine, seq: int) -> Counter[str]:
    """How many postings each rule turns away for a live message, over all subscriptions."""
    counted: Counter[str] = Counter()
    for id in engine:
        shard, row = engine._find(engine._registry.slot(id))
        state = State(shard.subscriptions, shard.postings, engine._planner.policy, engine._messages)
        found = verdicts(state, row, seq)
        counted.update(verdict.rule for verdict in found)
        assert all(verdict.best <= verdict.least for verdict in found if verdict.rule != PASSED)
    return counted


def publish_twice(stream: Stream, engine: Engine, *others: ReferenceEngine) -> Counter[str]:
    """What is told of a message, which is what its second arrival moves the counters by."""
    words, at = stream.message()
    for each in (engine, *others):
        each.publish(words, at=at, time=0)
    said = verdicts_of(engine, engine.newest_seq)
    before = counters(engine)
    for each in (engine, *others):
        each.publish(words, at=at, time=0)
    moved = counters(engine) - before
    for column, rules in COUNTED.items():
        assert moved[column] == sum(said[rule] for rule in rules), (rules, said)
    assert moved[layout.N_VERIFIED] + moved[layout.N_REPEATED] == said[PASSED]
    return said


@pytest.mark.parametrize("name", SETTINGS)
def test_any_rules_give_the_same_lists_and_count_what_they_save(name: str, seed: int) -> None:
    stream = Stream(seed)
    engine, reference = Engine(last(80), stream.space, tuning=SETTINGS[name]), ReferenceEngine(last(80), stream.space)
    both = [engine, reference]
    stream.publish(both, 60)
    stream.register(both, 400)
    stream.publish(both, 40)
    told: Counter[str] = Counter()
    for _ in range(25):
        told += publish_twice(stream, engine, reference)
        for id in engine:
            assert engine.top(id) == reference.top(id), id
    if name in ALONE:
        switches = ALONE[name][0]
        assert told[name] > 0, told
        allowed = {name, PASSED, *switches, *(["point", "spatial"] if "outer" in switches else [])}
        assert set(told) <= allowed, told
    elif name.startswith("none"):
        assert set(told) == {PASSED}
    elif name.startswith("outer"):
        assert told["spatial"] > 0
    elif name.startswith("all"):
        assert set(told) >= {"length", "point", PASSED}, told


def test_runs_of_blocks(seed: int) -> None:
    """A list of more than 32 blocks has a header for every 32. Here they lie in two far corners."""
    stream = Stream(seed, vocabulary=1)
    stream.centers = np.array([[0.1, 0.1], [0.9, 0.9]])
    engine = Engine(last(80), stream.space)
    stream.publish([engine], 60)
    stream.register([engine], 2500, [0.7, 0.8, 0.9])
    told = [publish_twice(stream, engine)["run"]]
    while not told[-1]:
        told.append(publish_twice(stream, engine)["run"])
        assert len(told) < 40


def test_the_inner_bound_adds_to_the_outer_one(seed: int) -> None:
    rejected = []
    for inner in (False, True):
        stream = Stream(seed)
        pruning = Pruning(**OFF | {"outer": True, "inner": inner})
        engine = Engine(last(80), stream.space, tuning=Tuning(pruning=pruning, order="paper", cell_limit=40))
        stream.publish([engine], 60)
        stream.register([engine], 400)
        stream.publish([engine], 1)
        rejected.append(verdicts_of(engine, engine.newest_seq)["spatial"])
    assert 0 < rejected[0] < rejected[1]


# --- What `explain` says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["paper", "blocks"])
def test_explain_names_the_rule_and_its_numbers(order: Literal["paper", "blocks"], seed: int) -> None:
    """Every kind of outcome occurs, and each is true."""
    stream = Stream(seed)
    engine = Engine(last(80), stream.space, tuning=Tuning(order=order, cell_limit=40, alpha_groups=3))
    stream.publish([engine], 60)
    stream.register([engine], 400)
    stream.publish([engine], 60)
    kinds = {rule: sentence.split("{")[0] or "lies outside" for rule, sentence in NOW.items()}
    seen: Counter[str] = Counter()
    for id in list(engine)[:150]:
        k = engine.subscription(id).k
        shard, row = engine._find(engine._registry.slot(id))
        waiting = set(shard.buffer(row)[1][k:].tolist())
        for seq in range(engine.newest_seq - 79, engine.newest_seq + 1):
            told = engine.explain(id, seq)
            if told.in_top or told.score is None:
                continue
            kind = "waits" if "waits in the buffer" in told.outcome else "dropped"
            if "if it came now" in told.outcome:
                kind = next(rule for rule, start in kinds.items() if start in told.outcome)
                assert told.score < told.threshold
                now = told.outcome.split("if it came now, ")[1]
                best, least = sorted(float(number) for number in re.findall(r"(?<= )-?\d[\d.e-]*", now))
                if kind == "cell":
                    assert best >= told.ssim - 2e-6
                elif kind in ("run", "block"):  # what words must bring is what distance takes from alpha, and the rest
                    assert best >= (1.0 - told.alpha) * told.tsim - 2e-6
                    assert least <= told.threshold - told.alpha * told.ssim + 2e-6
                else:
                    assert best >= told.score - 2e-6
                    assert least <= told.threshold + 2e-6
            else:
                assert told.score >= told.threshold
                assert (kind == "waits") == (seq in waiting)
            seen[kind] += 1
    assert set(seen) >= {"waits", "dropped", "length", "point", "score"}, seen
    assert ({"cell", "group", "early"} if order == "paper" else {"block"}) & set(seen), seen
