"""The engine's counters under names that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nearcast.kernels import layout
from nearcast.kernels.clock import nanoseconds_per_tick
from nearcast.kernels.layout import MessageIndex, Messages
from nearcast.state import Arenas

if TYPE_CHECKING:
    from nearcast.shard import Shard

COUNTERS = {
    "messages": layout.N_MESSAGES,
    "lists_opened": layout.N_LISTS,
    "cells_seen": layout.N_CELLS,
    "cells_skipped": layout.N_CELLS_SKIPPED,
    "groups_seen": layout.N_GROUPS,
    "groups_skipped": layout.N_GROUPS_SKIPPED,
    "postings_saved_by_cell": layout.N_POSTINGS_CELL,
    "postings_saved_by_group": layout.N_POSTINGS_GROUP,
    "postings_saved_by_early_termination": layout.N_POSTINGS_EARLY,
    "postings_seen": layout.N_POSTINGS,
    "rejected_by_length": layout.N_LENGTH,
    "rejected_by_point": layout.N_POINT,
    "rejected_by_prefix": layout.N_PREFIX,
    "rejected_by_unseen": layout.N_UNSEEN,
    "rejected_by_signature": layout.N_SIGNATURE,
    "repeated": layout.N_REPEATED,
    "verified": layout.N_VERIFIED,
    "affected": layout.N_AFFECTED,
    "expired": layout.N_EXPIRED,
    "due": layout.N_DUE,
    "removed": layout.N_REMOVED,
    "evicted": layout.N_EVICTED,
    "refills": layout.N_REFILLS,
    "thresholds_raised": layout.N_RAISED,
    "lists_packed": layout.N_PACKS,
    "search_postings": layout.N_SEARCH_POSTINGS,
    "search_blocks": layout.N_SEARCH_BLOCKS,
    "search_scored": layout.N_SEARCH_SCORED,
    "changes": layout.N_CHANGES,
}
STAGES = {
    "expire_s": layout.T_EXPIRE,
    "filter_s": layout.T_FILTER,
    "verify_s": layout.T_VERIFY,
    "offer_s": layout.T_OFFER,
    "refill_s": layout.T_REFILL,
    "report_s": layout.T_CHANGES,
}
PER_SHARD = ("messages", "expired")
"""Every shard counts these, and all count the same."""


def counters(shards: Sequence[Shard], arenas: Arenas, messages: Messages, index: MessageIndex) -> Mapping[str, float]:
    """Counters since the start, seconds per stage over all threads, entries in buffers, bytes by structure."""
    total = np.sum([shard.counters for shard in shards], axis=0)
    tick = nanoseconds_per_tick() * 1e-9
    numbers: dict[str, float] = {name: int(total[column]) for name, column in COUNTERS.items()}
    for name in PER_SHARD:
        numbers[name] //= len(shards)
    numbers |= {name: float(total[column]) * tick for name, column in STAGES.items()}
    numbers["buffer_entries"] = sum(int(shard.subscriptions.control[layout.C_ENTRIES]) for shard in shards)
    numbers["bytes_subscriptions"] = sum(shard.bytes() for shard in shards)
    numbers["bytes_window"] = window_bytes(messages, index)
    return numbers


def window_bytes(messages: Messages, index: MessageIndex) -> int:
    """Memory of the live window and its index."""
    live = int(messages.control[layout.A_NEXT] - messages.control[layout.A_FIRST])
    if not live:
        return 0
    oldest = int(messages.span[int(messages.control[layout.A_FIRST]) & layout.SLOT_MASK]) >> layout.SPAN_BITS
    terms = (int(messages.control[layout.A_TERMS]) - oldest) % layout.TERM_RING
    postings = terms + int(index.control[layout.I_POSTINGS])
    per_message = messages.place.itemsize * 4 + messages.code.itemsize + messages.span.itemsize
    return live * per_message + terms * 8 + postings * 9 + int(index.control[layout.I_HEAD_USED]) * 16
