"""The engine's memory: arenas, and the NamedTuples of views that kernels take (see `kernels.layout`).

Nothing here grows: an arena reserves address space once and pages get memory as they are written. Rings (the window,
the message index) give the pages of expired messages back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from nearcast.kernels import layout
from nearcast.kernels.compact import VALUES
from nearcast.kernels.layout import (
    BLOCK,
    BLOCK_BYTES,
    C_SIZE,
    CELL,
    POSTING_RING,
    RUN_RING,
    SLOT_MASK,
    TERM_RING,
    Changes,
    MessageIndex,
    Messages,
    Postings,
    Scratch,
    Subscriptions,
)
from nearcast.kernels.search import BUCKETS
from nearcast.memory import Arena
from nearcast.text import MAX_MESSAGE_WORDS, MAX_SUBSCRIPTION_WORDS

SLOTS = SLOT_MASK + 1
ROWS = 1 << 27
"""Subscriptions a shard can hold."""
TERMS = 1 << 27
"""Words a vocabulary can hold."""
PLACES = 1 << 30
"""Postings a shard can hold."""
HEAD_POSTINGS = 1 << 26

Array = NDArray[Any]


class Arenas:
    """Arenas by name, so that a snapshot can save them and `stats` can weigh them."""

    def __init__(self) -> None:
        self.by_name: dict[str, Arena] = {}

    def take(self, name: str, dtype: DTypeLike, *shape: int) -> Array:
        """A new arena of this shape."""
        size = int(np.prod(shape))
        arena = Arena(dtype, size)
        if arena.capacity < size:
            raise MemoryError(
                f"could not reserve address space for {name}; look at `ulimit -v`, and at vm.overcommit_memory "
                "(2 forbids it)"
            )
        self.by_name[name] = arena
        return arena.array.reshape(shape)

    def view(self, name: str, dtype: DTypeLike, *shape: int) -> Array:
        """The memory of an arena as another type."""
        return self.by_name[name].view(dtype).reshape(shape)

    def release(self, name: str, first: int, last: int, columns: int, size: int, ring: int = 0) -> None:
        """Give back rows first..last-1 of one of the rings, of `size` rows, that an arena holds."""
        arena = self.by_name[name]
        start = ring * size
        first, last = first % size, last % size
        pieces: Iterable[tuple[int, int]] = [(first, last)] if first <= last else [(first, size), (0, last)]
        for a, b in pieces:
            arena.release((start + a) * columns, (start + b) * columns)


def subscriptions_state(arenas: Arenas) -> Subscriptions:
    """Rows, terms, buffers and calendar of one shard."""
    flat = arenas.take("rows", np.uint32, ROWS * 16)
    terms = arenas.take("terms", np.uint32, ROWS * 4, 4)
    buffers = arenas.take("buffers", np.float32, 1 << 34)
    control = np.zeros(C_SIZE, np.int64)
    control[layout.C_POSTINGS_USED] = CELL  # place 0 is never used
    return Subscriptions(
        f64=arenas.view("rows", np.float64, ROWS, 8),
        f32=arenas.view("rows", np.float32, ROWS, 16),
        u32=flat.reshape(ROWS, 16),
        flat=flat,
        terms_flat=terms.reshape(-1),
        terms=terms,
        code=arenas.take("code", np.uint32, ROWS),
        term_ids=terms[:, 0],
        term_weights=arenas.view("terms", np.float32, ROWS * 4, 4)[:, 1],
        buffer_f32=buffers,
        buffer_u32=arenas.view("buffers", np.uint32, 1 << 34),
        buffer_u16=arenas.view("buffers", np.uint16, 1 << 35),
        due=arenas.take("due", np.uint32, SLOTS),
        flag=arenas.take("flag", np.uint8, ROWS),
        control=control,
        free=np.zeros((2, 128), np.uint32),
    )


def postings_state(arenas: Arenas, by_paper: bool) -> Postings:
    """The subscription index of one shard. What only the paper's order of lists needs is empty in ours."""
    directory = np.zeros((0, 16), np.float32)
    if by_paper:
        directory = arenas.take("directory", np.float32, PLACES // BLOCK, 16)
    lists = arenas.take("lists", np.uint32, TERMS, 8)
    return Postings(
        lists=lists,
        starts=lists[:, layout.L_START],
        eights=arenas.take("compact", np.uint8, PLACES // BLOCK, BLOCK_BYTES),
        halves=arenas.view("compact", np.uint16, PLACES // BLOCK, BLOCK_BYTES // 2),
        words=arenas.view("compact", np.uint32, PLACES // BLOCK, BLOCK_BYTES // 4),
        words_flat=arenas.view("compact", np.uint32, PLACES * BLOCK_BYTES // BLOCK // 4),
        owner=arenas.take("owner", np.uint32, PLACES),
        block=arenas.take("block", np.float32, PLACES // CELL, layout.K_SIZE, BLOCK),
        block_flat=arenas.by_name["block"].array,
        cell=arenas.take("cell", np.float32, PLACES // CELL, 16),
        cell_flat=arenas.by_name["cell"].array,
        paper=arenas.take("paper", np.float32, 3, PLACES) if by_paper else np.zeros((3, 0), np.float32),
        suffix=arenas.take("suffix", np.float32, PLACES // BLOCK, 8) if by_paper else np.zeros((0, 8), np.float32),
        rows_f32=directory,
        rows_u32=directory.view(np.uint32),
        free=np.zeros((2, 40), np.uint32),
        values=np.zeros(VALUES, np.float32),
    )


def messages_state(arenas: Arenas) -> Messages:
    """The window."""
    terms = arenas.take("message_terms", np.uint32, TERM_RING, 2)
    return Messages(
        place=arenas.take("place", np.float64, SLOTS, 4),
        span=arenas.view("place", np.int64, SLOTS, 4)[:, 3],
        signature=arenas.take("signature", np.uint64, SLOTS),
        time=arenas.take("time", np.float64, SLOTS),
        code=arenas.take("message_code", np.uint32, SLOTS),
        terms=terms,
        term_ids=terms[:, 0],
        term_weights=arenas.view("message_terms", np.float32, TERM_RING, 2)[:, 1],
        control=np.zeros(3, np.int64),
    )


def index_state(arenas: Arenas, head_messages: int, segment_messages: int) -> MessageIndex:
    """The message index."""
    control = np.zeros(9, np.int64)
    control[layout.I_HEAD_SIZE] = head_messages
    control[layout.I_LARGE_SIZE] = segment_messages
    return MessageIndex(
        last=arenas.take("last", np.uint32, TERMS, 4),
        head=arenas.take("head", np.uint32, HEAD_POSTINGS, 4),
        head_weights=arenas.view("head", np.float32, HEAD_POSTINGS, 4),
        runs=arenas.take("runs", np.uint32, 2, RUN_RING, 8),
        postings=arenas.take("postings", np.uint32, 2, POSTING_RING, 3),
        weights=arenas.view("postings", np.float32, 2, POSTING_RING, 3),
        block=arenas.take("blocks", np.float32, 2, POSTING_RING // BLOCK, 8),
        control=control,
    )


def scratch_state(arenas: Arenas) -> Scratch:
    """Working room of one shard."""
    mask = np.zeros(BLOCK, np.uint8)
    score_bits = np.zeros(1, np.uint32)
    return Scratch(
        pieces=arenas.take("pieces", np.int64, PLACES, 3),
        distances=arenas.take("distances", np.float32, PLACES, 2),
        mask=mask,
        mask_words=mask.view(np.uint64),
        candidates=arenas.take("candidates", np.uint32, PLACES, 2),
        hit_rows=arenas.take("hit_rows", np.uint32, ROWS),
        hit_scores=arenas.take("hit_scores", np.float32, ROWS),
        due_rows=arenas.take("due_rows", np.uint32, ROWS),
        pending=arenas.take("pending", np.uint32, ROWS),
        touched=arenas.take("touched", np.uint32, ROWS, 8),
        before_stamps=arenas.take("before_stamps", np.uint32, 1 << 32),
        before_scores=arenas.take("before_scores", np.float32, 1 << 32),
        found_scores=arenas.take("found_scores", np.float32, SLOTS),
        found_bits=arenas.view("found_scores", np.uint32, SLOTS),
        found_stamps=arenas.take("found_stamps", np.uint32, SLOTS),
        order=arenas.take("order", np.int64, SLOTS),
        keys=arenas.take("keys", np.int64, SLOTS),
        sky=arenas.take("sky", np.int64, 3, SLOTS),
        heap=arenas.take("heap", np.float32, SLOTS),
        query=np.zeros(4 + 2 * MAX_SUBSCRIPTION_WORDS),
        bits=np.zeros(MAX_SUBSCRIPTION_WORDS, np.uint64),
        short_bits=np.zeros(MAX_SUBSCRIPTION_WORDS, np.uint32),
        buckets=np.zeros(BUCKETS + 1, np.int64),
        sight=np.zeros(layout.V_SIZE, np.float32),
        word_bits=np.zeros(MAX_MESSAGE_WORDS + 1, np.uint32),
        print_heads=np.zeros(256, np.uint32),
        print_next=np.zeros(MAX_MESSAGE_WORDS, np.uint32),
        heavy_bits=np.zeros(MAX_MESSAGE_WORDS + 1, np.uint32),
        word_keys=np.zeros((MAX_MESSAGE_WORDS, layout.M_SIZE), np.float32),
        word_places=np.zeros(4 * MAX_MESSAGE_WORDS, np.uint32),
        state=np.zeros(3, np.int64),
        score_bits=score_bits,
        score=score_bits.view(np.float32),
        block_bounds=arenas.take("block_bounds", np.float32, POSTING_RING // BLOCK),
        passed=np.zeros((BLOCK, 2), np.int64),
        passed_near=np.zeros(BLOCK),
        passed_text=np.zeros(BLOCK),
        block_near=arenas.take("block_near", np.float32, POSTING_RING // BLOCK),
        blocks=arenas.take("found_blocks", np.int64, POSTING_RING // BLOCK, 2),
        block_order=arenas.take("block_order", np.int64, POSTING_RING // BLOCK),
    )


def changes_state(arenas: Arenas) -> Changes:
    """Where one shard writes its changes."""
    room = 1 << 32
    return Changes(
        seq=arenas.take("out_seq", np.int64, room),
        row=arenas.take("out_row", np.uint32, room),
        number=arenas.take("out_number", np.uint32, room),
        kind=arenas.take("out_kind", np.uint8, room),
        cause=arenas.take("out_cause", np.uint8, room),
        message=arenas.take("out_message", np.int64, room),
        rank=arenas.take("out_rank", np.int32, room),
        score=arenas.take("out_score", np.float32, room),
        count=np.zeros(1, np.int64),
    )
