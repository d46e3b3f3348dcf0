"""What can be set about the engine: it changes how fast it is, never what it answers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearcast.errors import InvalidInput
from nearcast.kernels.layout import W_SIZE


@dataclass(frozen=True)
class Pruning:
    """The pruning rules of the paper, and three of ours, each on or off. All on is fastest, and no result needs any.

    `early`, `prefix`, `unseen` and `inner` prune lists in the paper's order only (`Tuning.order`): in ours, `length`
    and `signature` leave them too little to do to pay for their statistics (docs/paper-map.md).
    """

    cell: bool = True  # cell-based pruning (5.2.3)
    group: bool = True  # whole-group skip (5.2.1)
    early: bool = True  # early termination within a group (5.2.2)
    prefix: bool = True  # refined location-aware prefix (5.1.1)
    unseen: bool = True  # bound for unseen keywords (5.1.3)
    outer: bool = True  # outer spatial bound (5.1.2)
    inner: bool = True  # inner spatial bound, combined with the outer one (5.1.2)
    length: bool = True  # beyond the paper: Cauchy-Schwarz for the keywords still to come
    point: bool = True  # beyond the paper: the distance to the subscription itself, before verification
    signature: bool = True  # beyond the paper: only later keywords that the signatures have in common count

    def switches(self) -> NDArray[np.uint8]:
        """One byte a rule, in the order of the W_* columns."""
        values = [getattr(self, field.name) for field in fields(self)]
        if len(values) != W_SIZE:
            raise AssertionError("every rule has a column W_*")
        return np.array(values, np.uint8)


@dataclass(frozen=True)
class Tuning:
    """Settings of the engine's structures."""

    pruning: Pruning = Pruning()
    order: Literal["blocks", "paper"] = "blocks"
    """How a keyword's long list is ordered: blocks of postings that are alike in all that decides (ours), or cells of a
    quadtree, groups by alpha, threshold* within a group (the paper's 5.2 and 5.3)."""
    cell_limit: int = 1000
    """Postings of a keyword that a quadtree cell holds before it is split (the paper's 1000 subscriptions a leaf)."""
    alpha_groups: int = 10
    """Groups a cell is divided into by quantiles of alpha."""
    head_messages: int = 2048
    """Messages that the head of the message index takes before it is sealed."""
    segment_messages: int = 65536
    """Messages of small segments that are merged into a large one."""
    rank: int | None = None
    """Fix the rank whose score becomes a threshold at a re-evaluation; None lets the cost model choose it."""

    def __post_init__(self) -> None:
        bounds = {"cell_limit": 1 << 30, "alpha_groups": 1000, "head_messages": 1 << 16, "segment_messages": 1 << 24}
        for name, most in bounds.items():
            value: Any = getattr(self, name)
            if not isinstance(value, int) or not 1 <= value <= most:
                raise InvalidInput(f"tuning.{name}", f"takes a whole number from 1 to {most}, not {value!r}")
        if self.order not in ("blocks", "paper"):
            raise InvalidInput("tuning.order", f"takes 'blocks' or 'paper', not {self.order!r}")
        if self.rank is not None and (not isinstance(self.rank, int) or self.rank < 1):
            raise InvalidInput("tuning.rank", f"takes a whole number of at least 1 or None, not {self.rank!r}")
