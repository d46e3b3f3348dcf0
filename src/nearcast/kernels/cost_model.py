"""Where to put a threshold: the cost model of the paper's sections 6.2 and 6.3, in terms of ranks.

A re-evaluation sets the threshold to the score of the r-th best of the |W| live messages, so a new message reaches it
with p = r / |W|. A larger r makes every update dearer (more messages reach the threshold, the skyband is longer), a
smaller one makes the next re-evaluation come sooner. The cost per message update (an arrival with `p_arrive`, an expiry
with `p_expire`) is that of keeping the skyband plus `refill_cost` / (updates until fewer than k messages reach the
threshold). Costs are in the caller's unit; `best_rank` finds the r where the sum is least.

Two models, of which `SLIDING` is ours and the default, for these reasons:

- `PAPER` takes the skyband's size as k ln(r/k), which forgets the k best messages themselves: it is k (1 + ln(r/k)). It
  charges every expiry in full, but of the messages that reached the threshold only k/r are still in the skyband when
  they expire, the others have been evicted. It has no fixed cost per update, which is most of it.
- `PAPER` takes the number of messages above the threshold as a random walk with a reflecting barrier at 2r. Of that
  walk Z' is exact (a step up from the barrier stays in place; see `walk_updates`). But the number does not walk: a
  window holds a Poisson number of them around r, as the more there are, the more expire. Against a simulated sliding
  window (k = 20) Z' is 4 times too high at r = k + 1 and 20 times too low at r = 2k, while `sliding_updates` is within
  a factor of 1.6 everywhere. So PAPER asks for far too long buffers where a re-evaluation is dear.

Both take p as r / |W|. A threshold that only falls (it moves when a buffer runs dry, never when it overflows) settles
lower than any model says, and p is then underestimated: raise it when a buffer has grown to about twice its size.
"""

from __future__ import annotations

import math

from nearcast.kernels.jit import kernel, routine

PAPER = 0
SLIDING = 1

MAX_RANK_FACTOR = 64
"""`best_rank` looks at ranks up to this many times k."""


@routine
def paper_skyband_size(k, r):
    """|s.A| as in section 6.2: k ln(|W| p / k)."""
    return k * math.log(r / k)


@kernel
def skyband_size(k, r):
    """Expected size of the k-skyband of r messages in random order: sum of min(1, k/i), about k (1 + ln(r/k))."""
    return k * (1.0 + math.log(r / k)) if r > k else float(r)


@routine
def paper_maintenance(k, r, window, p_arrive, p_expire):
    """C_sm of equation 9, with section 6.3's probabilities: buffer entries looked at per update."""
    return (p_arrive + p_expire) * (r / window) * paper_skyband_size(k, r)


@routine
def maintenance(k, r, window, update_cost, entry_cost, p_arrive, p_expire):
    """Our C_sm: at both ends of a message's life a fixed cost, and one per entry where the skyband changes."""
    p = r / window
    entries = entry_cost * skyband_size(k, r)
    return p * p_arrive * (update_cost + entries) + p * p_expire * (update_cost + min(1.0, k / r) * entries)


@routine
def paper_updates(k, r, window):
    """Z'(s) as printed in section 6.2, with |A'_init| = r."""
    p = r / window
    return 2.0 * (r - k + 1) * r / p + (r - k + 1.0) * (r - k + 2.0) / p


@routine
def walk_updates(k, r, window, p_arrive, p_expire):
    """Expected updates of a walk from r to k - 1, steps +1 with p p_arrive and -1 with p p_expire, +1 void at 2r.

    With e_j the expected time from j to j - 1: e_2r = 1/down and e_j = (1 + up e_(j+1)) / down; the sum from k to r in
    closed form. For equal probabilities it is `paper_updates`; section 6.3 leaves the rest to the reader.
    """
    if p_expire <= 0.0:
        return math.inf
    steps = r - k + 1.0  # down to k - 1
    height = 2.0 * r - k + 1.0  # from k - 1 up to the barrier
    down = p_expire * r / window
    drift = math.log1p((p_arrive - p_expire) / p_expire) if p_arrive > 0.0 else -math.inf
    if abs(drift) * height < 1e-8:  # the closed form would lose more digits than the drift is worth
        return 0.5 * steps * (2.0 * height + 1.0 - steps) / down
    away = (p_expire - p_arrive) / p_expire
    if (height + 1.0) * drift > 700.0:  # beyond float64, and any engine's life
        return math.inf
    return (steps - math.exp((height - steps + 1.0) * drift) * -math.expm1(steps * drift) / away) / (down * away)


@routine
def sliding_updates(k, r, window, p_arrive, p_expire):
    """Expected updates until a sliding window that holds r messages above the threshold holds k - 1.

    One arrives with p_arrive r/|W|; one of the j that are there expires with p_expire j/|W|, as each is equally likely
    to be the oldest. So e_j = (1 + up e_(j+1)) / down_j as for the walk, begun so far above that it is forgotten. (A
    window drops its messages in order: those that arrived above the threshold stay for all of it, which pulls the
    number back to r a little later than this says. Simulated, it takes up to 1.6 times fewer updates.)
    """
    if (
        p_expire <= 0.0 or r >= window
    ):  # nothing expires, or every message is above the threshold and none need be found
        return math.inf
    pause = window / p_expire
    level = r * p_arrive / p_expire  # where the number settles
    top = max(float(r), level)
    first = int(min(top + 6.0 * math.sqrt(top) + 8.0, 4.0 * r + 64.0))
    wait = pause / first
    total = 0.0
    for j in range(first - 1, k - 1, -1):
        share = 1.0 / j
        wait = pause * share + (level * share) * wait
        if j <= r:
            total += wait
    return total


@routine
def cost(model, k, r, window, refill_cost, update_cost, entry_cost, p_arrive, p_expire):
    """C(s) of equation 13: the expected cost of one message update to one subscription."""
    if model == PAPER:
        keep = entry_cost * paper_maintenance(k, r, window, p_arrive, p_expire)
        return keep + refill_cost / walk_updates(k, r, window, p_arrive, p_expire)
    keep = maintenance(k, r, window, update_cost, entry_cost, p_arrive, p_expire)
    return keep + refill_cost / sliding_updates(k, r, window, p_arrive, p_expire)


@kernel
def best_rank(
    k: int,
    window: int,
    refill_cost: float,
    update_cost: float,
    entry_cost: float,
    p_arrive: float,
    p_expire: float,
    model: int = SLIDING,
) -> int:
    """The rank from k + 1 to min(window, 64 k) at which `cost` is least, the smallest of equals; k if the window is no
    larger than k, and the whole window (no threshold at all) where that is cheapest.

    The cost falls and then rises, so: strides that double until it no longer falls, then bisection on its slope (the
    paper's incremental estimation). Ranks much beyond the best are never tried, as their waiting times take O(r).
    """
    if window <= k:
        return k
    most = min(window - 1, MAX_RANK_FACTOR * k)
    low = k + 1
    high = low
    if low < most:
        stride = 1
        here = cost(model, k, low, window, refill_cost, update_cost, entry_cost, p_arrive, p_expire)
        high = most
        while low + stride < most:
            ahead = cost(model, k, low + stride, window, refill_cost, update_cost, entry_cost, p_arrive, p_expire)
            if ahead >= here:
                high = low + stride
                break
            low += stride
            here = ahead
            stride *= 2
        low = max(k + 1, low - stride // 2)  # the least may lie before the last step that still fell
    while low < high:
        middle = (low + high) // 2
        here = cost(model, k, middle, window, refill_cost, update_cost, entry_cost, p_arrive, p_expire)
        ahead = cost(model, k, middle + 1, window, refill_cost, update_cost, entry_cost, p_arrive, p_expire)
        if ahead < here:
            low = middle + 1
        else:
            high = middle
    if window <= MAX_RANK_FACTOR * k:
        here = cost(model, k, low, window, refill_cost, update_cost, entry_cost, p_arrive, p_expire)
        if low >= window or cost(model, k, window, window, 0.0, update_cost, entry_cost, p_arrive, p_expire) < here:
            return window
    return low
