"""What is global about a stream: the numbers of its messages, its time, and which message is the oldest live one.

Every partition must know these even if no message comes to it, so one place counts them and tells all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearcast.intake import NEVER
from nearcast.model import Last, Window
from nearcast.snapshot import Contents


class Tick(NamedTuple):
    """What a micro-batch does to the window: messages first..newest arrive, expired..live-1 leave."""

    expired: int  # the oldest live message before the batch
    live: int  # the oldest live message after it; newest + 1 if none is
    first: int  # the first message of the batch
    newest: int  # the newest message, first - 1 in a batch without any

    @property
    def window(self) -> int:
        """How many messages are live after the batch."""
        return self.newest + 1 - self.live


class Clock:
    """Numbers messages and expires them."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.next = 0
        self.live = 0
        self.now = NEVER
        self._times: NDArray[np.int64] = np.zeros(0, np.int64)  # of the live messages; a window by time needs them

    def take(self, times: ArrayLike, now: int = NEVER) -> tuple[Tick, NDArray[np.int64]]:
        """Messages arrive at these times, and then it is `now`, if that is later. Time never runs backwards."""
        own = np.asarray(times, np.int64)
        stamps = np.maximum.accumulate(np.maximum(own, self.now))
        before, first = self.live, self.next
        self.next += len(own)
        self.now = max(self.now, now, *stamps[-1:].tolist())
        if isinstance(self.window, Last):
            self.live = max(before, self.next - self.window.count)
        else:
            live = np.concatenate([self._times, stamps])
            gone = int(np.searchsorted(live, self.now - self.window.duration_ms, side="right"))
            self._times = live[gone:].copy()
            self.live += gone
        return Tick(before, self.live, first, self.next - 1), stamps

    def save(self) -> Contents:
        """Everything but the kind of window."""
        return Contents({"next": self.next, "live": self.live, "now": self.now}, {"times": self._times}, {})

    def load(self, saved: Contents) -> None:
        """Take up what `save` gave."""
        self.next, self.live, self.now = (int(saved.meta[name]) for name in ("next", "live", "now"))
        self._times = np.ascontiguousarray(saved.arrays["times"], np.int64)
