"""Giving the memory of expired messages back: the rings of the window and of the message index are address space.

Pages behind the oldest live message go in strides, so that a page fault per stride is all it costs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from nearcast import state
from nearcast.kernels import layout
from nearcast.kernels.layout import MessageIndex, Messages

STRIDE = 1 << 16
"""Messages whose memory goes at a time."""

LARGE = 1
"""The tier of the large segments; the small one and the head are used again from their start."""


class Trimmer:
    """Follows the window and releases what lies behind it."""

    def __init__(
        self, messages: Messages, index: MessageIndex, window: state.Arenas, shards: Sequence[state.Arenas]
    ) -> None:
        self._messages, self._index = messages, index
        self._window, self._shards = window, shards
        self._seq = 0
        self._terms = 0
        self._segments: deque[tuple[int, int, int]] = deque()  # end message, postings and runs used by then
        self._postings = self._runs = 0

    def begin(self) -> None:
        """The window starts where it is now."""
        self._seq = int(self._messages.control[layout.A_FIRST])

    def follow(self) -> None:
        """Note new segments; release the memory of messages that have expired."""
        control = self._index.control
        used, runs = int(control[layout.I_POSTINGS + LARGE]), int(control[layout.I_RUNS + LARGE])
        if used != (self._segments[-1][1] if self._segments else self._postings):
            self._segments.append((int(control[layout.I_SMALL_FIRST]), used, runs))
        first = int(self._messages.control[layout.A_FIRST])
        if first - self._seq < STRIDE:
            return
        for name, columns in (("place", 4), ("message_code", 1), ("signature", 1), ("time", 1)):
            self._window.release(name, self._seq, first, columns, state.SLOTS)
        for arenas in self._shards:
            arenas.release("due", self._seq, first, 1, state.SLOTS)
        self._release_terms(first)
        self._release_segments(first)
        self._seq = first

    def _release_terms(self, first: int) -> None:
        """The terms of messages before `first`; the ring's places rise with the messages but for its turn."""
        if first >= int(self._messages.control[layout.A_NEXT]):
            return
        place = int(self._messages.span[first & layout.SLOT_MASK]) >> layout.SPAN_BITS
        self._window.release("message_terms", self._terms, place, 2, layout.TERM_RING)
        self._terms = place

    def _release_segments(self, first: int) -> None:
        """Postings and runs of large segments that have expired whole."""
        while self._segments and self._segments[0][0] <= first:
            _, used, runs = self._segments.popleft()
            ring, run_ring = layout.POSTING_RING, layout.RUN_RING
            self._window.release("postings", self._postings, used, 3, ring, LARGE)
            blocks = self._postings // layout.BLOCK, used // layout.BLOCK
            self._window.release("blocks", *blocks, 8, ring // layout.BLOCK, LARGE)
            self._window.release("runs", self._runs, runs, 8, run_ring, LARGE)
            self._postings, self._runs = used, runs
