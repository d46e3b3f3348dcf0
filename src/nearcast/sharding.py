"""Which shard a subscription lives in: neighbours together, and every shard with its share.

The Morton curve is cut into as many pieces as there are shards. A batch is cut so that all shards end up with the same
number; a single subscription goes to its place's shard unless that is overfull. Any choice is right, some are faster.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

OVERFULL = 1.2


class Sharding:
    """Cuts of the Morton curve."""

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self.cuts = np.linspace(0, 1 << 32, shards + 1)[1:-1].astype(np.int64)

    def assign(self, codes: NDArray[np.uint32], live: list[int]) -> NDArray[np.int64]:
        """The shard of each new subscription, given how many live in each."""
        if self.shards == 1:
            return np.zeros(len(codes), np.int64)
        if len(codes) < 2 * self.shards:
            homes = np.searchsorted(self.cuts, codes.astype(np.int64), side="right")
            loads = np.array(live)
            if loads[homes].max(initial=0) > OVERFULL * loads.mean() + 64:
                homes[:] = int(loads.argmin())
            return homes
        target = (sum(live) + len(codes)) / self.shards
        shares = np.maximum(0.0, target - np.array(live))
        ends = np.rint(np.cumsum(shares) / shares.sum() * len(codes)).astype(np.int64)
        order = np.argsort(codes, kind="stable")
        homes = np.empty(len(codes), np.int64)
        homes[order] = np.searchsorted(ends, np.arange(len(codes)), side="right")
        self.cuts = codes[order[np.minimum(ends[:-1], len(codes) - 1)]].astype(np.int64)
        return homes
