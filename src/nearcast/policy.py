"""What the engine decides from its settings and its own experience, as kernels take it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearcast.kernels.cost_model import best_rank, skyband_size
from nearcast.kernels.layout import N_REFILL_WORK, N_REFILLS, Policy
from nearcast.model import MAX_K
from nearcast.space import Space
from nearcast.tuning import Tuning

UPDATE_COST = 600.0
ENTRY_COST = 8.0
"""What an update of a buffer costs, and each entry it looks at, in the units of `kernels.refill` (about 1 ns)."""

FIRST_REFILL_COST = 200_000.0
"""What a re-evaluation is taken to cost before there has been one."""

RETHINK = 1.3
"""A rank is chosen anew when the window or the cost of a re-evaluation has changed by this factor."""


class Planner:
    """Chooses for each k the rank whose score becomes the threshold at a re-evaluation (paper 6.2, 6.3)."""

    def __init__(self, space: Space, tuning: Tuning) -> None:
        self.policy = Policy(
            world=space.world,
            slack=min(space.chord_slack / space.max_dist, 1.0) + 2e-6,  # 1 lets every live posting pass, no dead one
            margin=2.0 * space.chord_slack,
            switches=tuning.pruning.switches(),
            limits=np.array([tuning.cell_limit, tuning.alpha_groups if tuning.order == "paper" else 0], np.int64),
            target_rank=np.arange(MAX_K + 1, dtype=np.int32),
            target_size=np.arange(MAX_K + 1, dtype=np.int32),
        )
        self._fixed = tuning.rank
        self._ks: set[int] = set()
        self._window = 1
        self._cost = FIRST_REFILL_COST
        self._shares = (0.5, 0.5)

    def meet(self, ks: Iterable[int]) -> None:
        """Subscriptions with these k are registered."""
        new = set(ks) - self._ks
        self._ks |= new
        for k in new:
            self._choose(k)

    def observe(self, window: int, counters: NDArray[np.int64], arrived: int, expired: int) -> None:
        """Look at how things have gone: the window's size, what re-evaluations cost, what comes and goes of late."""
        refills = int(counters[N_REFILLS])
        cost = float(counters[N_REFILL_WORK]) / refills if refills >= 32 else self._cost
        window = max(window, 1)
        moved = max(window, self._window) / min(window, self._window) > RETHINK
        if moved or max(cost, self._cost) / min(cost, self._cost) > RETHINK:
            self._window, self._cost = window, cost
            total = arrived + expired
            self._shares = (arrived / total, expired / total) if min(arrived, expired) > 0 else (0.5, 0.5)
            for k in self._ks:
                self._choose(k)

    def save(self) -> dict[str, Any]:
        """What it has learned, of JSON's types."""
        return {"window": self._window, "cost": self._cost, "shares": list(self._shares), "ks": sorted(self._ks)}

    def load(self, saved: dict[str, Any]) -> None:
        """Take up what `save` gave."""
        self._window, self._cost = int(saved["window"]), float(saved["cost"])
        arrive, expire = saved["shares"]
        self._shares = (float(arrive), float(expire))
        if not (self._window > 0 and 0.0 < self._cost < 1e18 and all(0.0 <= share <= 1.0 for share in self._shares)):
            raise ValueError("the planner's numbers are not sound")
        if not all(1 <= k <= MAX_K for k in saved["ks"]):
            raise ValueError("the planner's k are not sound")
        self._ks.clear()
        self.meet(saved["ks"])

    def _choose(self, k: int) -> None:
        if self._fixed is None:
            rank = best_rank(k, self._window, self._cost, UPDATE_COST, ENTRY_COST, *self._shares)
        else:
            rank = max(k, self._fixed)
        self.policy.target_rank[k] = rank
        self.policy.target_size[k] = max(k + 1, round(skyband_size(k, rank)))
