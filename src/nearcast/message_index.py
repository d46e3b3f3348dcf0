"""What a message index has to do when it is not the default one, and which there are.

The default, segments (`kernels.segments`, `kernels.search`), is built into the compiled loop. Any other is asked step
by step (see `stepwise`): the paper's IR-tree, or message partitions elsewhere.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearcast.errors import InvalidInput
from nearcast.kernels.geometry import World

SEGMENTS = "segments"

OTHERS = {"irtree": ("nearcast.baselines.irtree", "IRTree")}
"""Module and class by name, imported when wanted: the engine does not depend on what it is compared with."""


class MessageIndex(Protocol):
    """The live messages, to be searched by place and words."""

    def __init__(self, radius: float, max_dist: float) -> None:
        """Empty, for a plane (radius 0) or a sphere."""

    def add(self, seqs: ArrayLike, points: ArrayLike, offsets: ArrayLike, terms: ArrayLike, weights: ArrayLike) -> None:
        """Take a batch: consecutive `seqs`, embedded `points`, row i's words at `offsets[i]` to `offsets[i + 1]`."""

    def expire(self, before_seq: int) -> None:
        """Forget all messages with a lower seq."""

    def search(
        self,
        point: ArrayLike,
        terms: ArrayLike,
        weights: ArrayLike,
        alpha: float | np.float32,
        rank: int,
        first_seq: int,
        last_seq: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Every message first_seq..last_seq with a common word that scores at least the rank-th best, ties included.

        With fewer than `rank` of them, all. They stand in the order of lists. Several threads may search at once.
        """

    def take_cost(self) -> int:
        """What the searches since the last call have cost, counted, in units of `kernels.refill` (about 1 ns)."""

    def nbytes(self) -> int:
        """The memory that it takes."""

    def check(self) -> None:
        """Raise AssertionError if anything in it is not sound. Slow: for tests."""


def create(name: Any, world: World) -> MessageIndex | None:
    """An empty index of that name; None for the one that is built in."""
    if name == SEGMENTS:
        return None
    if not isinstance(name, str) or name not in OTHERS:
        names = " or ".join(repr(known) for known in (SEGMENTS, *OTHERS))
        raise InvalidInput("message_index", f"takes {names}, not {name!r}")
    module, cls = OTHERS[name]
    index: MessageIndex = getattr(import_module(module), cls)(world.radius, world.max_dist)
    return index
