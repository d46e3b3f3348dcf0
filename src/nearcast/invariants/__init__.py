"""Is every structure of an engine sound? For tests: it takes its time.

A checker per structure, each written from what the structure means (`kernels.layout`), with none of the kernels that
keep it.
"""

from __future__ import annotations

from nearcast.engine import Engine
from nearcast.invariants import allocators, buffers, calendar, lists, order, window
from nearcast.invariants.tables import table_of


def check(engine: Engine) -> None:
    """AssertionError with a sentence that says which structure is not sound, and where."""
    messages = window.live_messages(engine._messages)
    if engine._other_index is None:
        window.check(messages, engine._messages, engine._index, len(engine.vocabulary))
    else:
        engine._other_index.check()
    for number, shard in enumerate(engine._shards):
        try:
            table = table_of(shard.subscriptions)
            lists.check(table, shard, engine.space.world, len(engine.vocabulary))
            order.check(table, shard, engine.space, len(engine.vocabulary))
            buffers.check(table, shard, engine.space.world, messages)
            calendar.check(table, shard, messages)
            allocators.check(table, shard, len(engine.vocabulary))
        except AssertionError as error:
            raise AssertionError(f"shard {number}: {error}") from error
    slots = engine._registry.slots()
    homes = list(zip(engine._home[slots].tolist(), engine._row[slots].tolist(), strict=True))
    rows = [(number, row) for number, shard in enumerate(engine._shards) for row in table_of(shard.subscriptions).rows]
    assert sorted(homes) == sorted(rows), "the registry and the shards do not hold the same subscriptions"
    for slot, (home, row) in zip(slots.tolist(), homes, strict=True):
        assert engine._shards[home].slot_of_row[row] == slot, f"row {row} of shard {home} does not know its slot {slot}"
