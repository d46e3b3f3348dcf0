"""What the engine decides from its settings and its own experience, as kernels take it."""

from __future__ import annotations

import numpy as np

from nearcast.kernels.layout import Policy
from nearcast.model import MAX_K
from nearcast.space import Space
from nearcast.tuning import Tuning


class Planner:
    """Keeps the policy up to date."""

    def __init__(self, space: Space, tuning: Tuning) -> None:
        ks = np.arange(MAX_K + 1)
        rank = ks + np.maximum(4, ks * 3 // 4) if tuning.rank is None else np.maximum(ks, tuning.rank)
        size = np.maximum(ks, np.rint(ks * (1 + np.log(rank / np.maximum(ks, 1))))) + 1
        self.policy = Policy(
            world=space.world,
            slack=space.chord_slack / space.max_dist + 2e-6,
            margin=2.0 * space.chord_slack,
            switches=tuning.pruning.switches(),
            limits=np.array([tuning.cell_limit, tuning.alpha_groups], np.int64),
            target_rank=rank.astype(np.int32),
            target_size=size.astype(np.int32),
        )
