"""The calendar: whoever has entries is linked exactly once, at a live message not newer than its oldest entry."""

from __future__ import annotations

import numpy as np

from nearcast.invariants.tables import Table
from nearcast.invariants.window import LiveMessages
from nearcast.kernels import layout as at
from nearcast.kernels.layout import NONE, SLOT_MASK, UNLINKED
from nearcast.shard import Shard


def check(t: Table, shard: Shard, messages: LiveMessages) -> None:
    """Walk all lists of live messages, and the list of free rows."""
    s = shard.subscriptions
    used = int(s.control[at.C_ROWS])
    assert int(s.control[at.C_LIVE]) == len(t.rows), f"the shard counts {s.control[at.C_LIVE]} rows, not {len(t.rows)}"
    assert not s.flag[:used].any(), "a row is still marked as touched or pending between operations"
    linked: dict[int, int] = {}
    following = s.u32[:used, at.S_NEXT].tolist()
    slots = np.arange(messages.first, messages.end) & SLOT_MASK
    for seq, head in zip(range(messages.first, messages.end), s.due[slots].tolist(), strict=True):
        row = head - 1 if head else int(NONE)
        while row != NONE:
            assert row < used, f"message {seq} has a row {row} in its calendar that was never used"
            assert row not in linked, f"row {row} is linked twice, at messages {linked[row]} and {seq}"
            linked[row] = seq
            row = following[row]
    free: set[int] = set()
    row = int(s.control[at.C_FREE_ROW]) - 1
    while row >= 0:
        assert row < used and row not in free, f"the list of free rows comes to {row} twice or from nowhere"
        free.add(row)
        row = following[row] - 1
    live = set(t.rows.tolist())
    assert not free & live, f"rows {free & live} are in use and free"
    assert not free & linked.keys(), f"rows {free & linked.keys()} are free and in the calendar"
    lost = set(range(used)) - free - live - linked.keys()
    assert not lost, f"rows {lost} are unsubscribed, not free, and in no calendar list that would free them"
    for row in live:
        entries = shard.buffer(row)[1]
        if row in linked:
            assert not len(entries) or linked[row] <= entries.min(), (
                f"row {row} is visited after its oldest entry's end"
            )
        else:
            assert not len(entries), f"row {row} has {len(entries)} entries and is in no calendar list"
            assert following[row] == UNLINKED, f"row {row} says it is linked, and no live message knows it"
