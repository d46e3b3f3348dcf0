"""The cost model against exact solutions, simulations and brute force."""

from __future__ import annotations

import itertools
import math

import numba
import numpy as np
import pytest

from nearcast.kernels import cost_model as c

pytestmark = pytest.mark.lanes
SEED = 5
SLOW = bool(numba.config.DISABLE_JIT)


def solved(k: int, r: int, up: np.ndarray, down: np.ndarray) -> float:
    """Expected steps from r to k - 1 by solving the chain's linear system; `up[i]`, `down[i]` belong to level k + i."""
    n = up.size
    system = np.diag(up + down) - np.diag(up[:-1], 1) - np.diag(down[1:], -1)
    system[n - 1, n - 1] = down[n - 1]  # the barrier: a step up stays in place
    return float(np.linalg.solve(system, np.ones(n))[r - k])


@pytest.mark.parametrize("k", [1, 2, 5, 20])
@pytest.mark.parametrize("p_arrive", [0.5, 0.4, 0.49999, 0.5000001, 0.500000001, 0.55, 0.05, 0.0])
def test_walk_is_exact(k: int, p_arrive: float) -> None:
    window, p_expire = 1000, 0.5
    for r in (k, k + 1, k + 3, 2 * k + 5):
        levels = np.ones(2 * r - k + 1) * r / window
        want = solved(k, r, levels * p_arrive, levels * p_expire)
        assert c.walk_updates(k, r, window, p_arrive, p_expire) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize(("k", "r"), [(1, 1), (1, 2), (5, 9), (20, 50), (1000, 3000)])
def test_the_paper_s_formula_is_the_walk_of_equal_chances(k: int, r: int) -> None:
    window = 100_000
    assert c.walk_updates(k, r, window, 0.5, 0.5) == pytest.approx(c.paper_updates(k, r, window), rel=1e-12)
    # and it says what the paper's equation says, by hand: k = 5, r = 9, p = 9/100000
    assert c.paper_updates(5, 9, 100_000) == pytest.approx((2 * 5 * 9 + 5 * 6) / 9e-5)


@pytest.mark.parametrize(("p_arrive", "p_expire"), [(0.5, 0.5), (0.4, 0.6), (0.6, 0.4), (0.0, 1.0)])
def test_sliding_is_exact_for_its_chain(p_arrive: float, p_expire: float) -> None:
    window = 4000
    for k, r in ((1, 1), (1, 2), (1, 6), (5, 8), (20, 31), (40, 41)):
        j = np.arange(k, 4 * r + 200.0)
        want = solved(k, r, np.full(j.size, p_arrive * r / window), p_expire * j / window)
        got = c.sliding_updates(k, r, window, p_arrive, p_expire)
        assert got == pytest.approx(want, rel=1e-4), (k, r)
    assert c.sliding_updates(2, 4000, window, p_arrive, p_expire) == math.inf
    assert c.sliding_updates(2, 4, window, 1.0, 0.0) == math.inf == c.walk_updates(2, 4, window, 1.0, 0.0)


def simulated(k: int, r: int, window: int, trials: int, rng: np.random.Generator) -> float:
    """Mean updates until a window of random scores that began with r messages above the threshold holds k - 1."""
    rings = np.zeros((trials, window), bool)
    rings[:, :r] = True
    rings = rng.permuted(rings, axis=1)
    number, steps = np.full(trials, r), np.zeros(trials)
    alive = np.arange(trials)
    position = 0
    while alive.size:
        number[alive] -= rings[alive, position]  # an expiry, then an arrival
        steps[alive] += 1
        alive = alive[number[alive] >= k]
        arrives = rng.random(alive.size) < r / window
        rings[alive, position] = arrives
        number[alive] += arrives
        steps[alive] += 1
        position = (position + 1) % window
    return float(steps.mean())


@pytest.mark.parametrize(("k", "r"), [(1, 4), (5, 6), (5, 9), (20, 21), (20, 26), (20, 32)])
def test_sliding_is_near_a_real_window_and_the_paper_is_not(k: int, r: int) -> None:
    print("seed", SEED)
    window = 300
    real = simulated(k, r, window, 400, np.random.default_rng(SEED))
    assert 0.85 < c.sliding_updates(k, r, window, 0.5, 0.5) / real < 1.7
    if r == k + 1:
        assert c.paper_updates(k, r, window) > 2.0 * real


def test_the_paper_is_far_too_low_for_long_buffers() -> None:
    assert c.sliding_updates(20, 40, 10_000, 0.5, 0.5) > 20 * c.paper_updates(20, 40, 10_000)


def test_skyband_size() -> None:
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    k, r, trials = 5, 40, 400
    exact = sum(min(1.0, k / i) for i in range(1, r + 1))
    scores = rng.random((trials, r))  # newest first
    counted = [sum((s[:i] >= s[i]).sum() < k for i in range(r)) for s in scores]
    assert np.mean(counted) == pytest.approx(exact, rel=0.03)
    assert c.skyband_size(k, r) == pytest.approx(exact, rel=0.05)
    assert c.skyband_size(k, r) - c.paper_skyband_size(k, r) == pytest.approx(k)
    assert c.skyband_size(k, k) == k and c.skyband_size(k, 3) == 3


def test_maintenance() -> None:
    assert c.paper_maintenance(20, 40, 1000, 0.5, 0.5) == pytest.approx(0.04 * 20 * math.log(2))
    assert c.paper_maintenance(20, 40, 1000, 0.2, 0.3) == pytest.approx(0.02 * 20 * math.log(2))
    size = 20 * (1 + math.log(2))
    want = 0.04 * 0.5 * (7 + 3 * size) + 0.04 * 0.5 * (7 + 3 * size / 2)
    assert c.maintenance(20, 40, 1000, 7.0, 3.0, 0.5, 0.5) == pytest.approx(want)


def brute(k: int, window: int, *costs: float, model: int) -> tuple[float, int]:
    """The least cost and its rank, by trying all; the whole window needs no re-evaluation."""
    ranks = range(k + 1, min(window, 64 * k) + 1)
    return min((c.cost(model, k, r, window, *((0.0, *costs[1:]) if r == window else costs)), r) for r in ranks)


@pytest.mark.parametrize("model", [c.PAPER, c.SLIDING])
@pytest.mark.parametrize("k", [1, 2, 5] if SLOW else [1, 2, 3, 10, 30])
def test_best_rank_is_the_best(model: int, k: int) -> None:
    windows = [k + 1, 3 * k, 3000] if SLOW else [k + 1, k + 2, 3 * k, 40 * k, 64 * k, 64 * k + 1, 5000, 1_000_000]
    chances = [(0.5, 0.5), (0.3, 0.7), (0.55, 0.45)]
    refills = [0.0, 1e5] if SLOW else [0.0, 10.0, 1e3, 1e5, 1e7, 1e9]
    for window, refill, (p_arrive, p_expire), update in itertools.product(windows, refills, chances, [0.0, 500.0]):
        costs = (refill, update, 5.0, p_arrive, p_expire)
        got = c.best_rank(k, window, *costs, model)
        least, rank = brute(k, window, *costs, model=model)
        at_window = got == window
        found = c.cost(model, k, got, window, *((0.0, *costs[1:]) if at_window else costs))
        assert found == pytest.approx(least, rel=1e-9), (window, costs, got, rank)
        assert k < got <= min(window, 64 * k)


def test_best_rank_at_the_edges() -> None:
    usual = (1e5, 500.0, 5.0, 0.5, 0.5)
    assert c.best_rank(1, 1, *usual) == 1
    assert c.best_rank(20, 7, *usual) == 20 == c.best_rank(20, 20, *usual)
    assert c.best_rank(20, 21, *usual) == 21
    assert c.best_rank(20, 10**6, 0.0, 500.0, 5.0, 0.5, 0.5) == 21
    assert c.best_rank(20, 10**6, 1e5, 500.0, 5.0, 1.0, 0.0) == 21  # nothing expires
    assert c.best_rank(20, 10**6, 1e5, 0.0, 0.0, 0.0, 0.0) == 21  # nothing happens
    assert c.best_rank(20, 10**6, 1e300, 1.0, 1.0, 0.5, 0.5) <= 64 * 20
    assert c.best_rank(1, 10**6, *usual) > 2
    assert 1000 < c.best_rank(1000, 10**6, *usual) < 2000


def test_best_rank_follows_its_costs() -> None:
    ranks = [c.best_rank(20, 10**6, refill, 500.0, 5.0, 0.5, 0.5) for refill in (1e3, 1e4, 1e5, 1e6, 1e7)]
    assert ranks == sorted(ranks) and ranks[0] < ranks[-1]
    ranks = [c.best_rank(20, 10**6, 1e6, update, 5.0, 0.5, 0.5) for update in (1e1, 1e3, 1e5)]
    assert ranks == sorted(ranks, reverse=True) and ranks[0] > ranks[-1]
    # with a dear re-evaluation the paper's walk asks for a longer buffer than a window needs
    assert c.best_rank(20, 10**6, 1e7, 0.0, 5.0, 0.5, 0.5, c.PAPER) > 1.5 * c.best_rank(
        20, 10**6, 1e7, 0.0, 5.0, 0.5, 0.5
    )
