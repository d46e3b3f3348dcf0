"""Changes of lists: columns inside, `Change` tuples or an Arrow table outside, and the replay that rebuilds lists.

Engines write columns, because one message may change a hundred lists. A subscription is named in them by its slot (see
`registry`); only here, at the door, does it get its id back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearcast.model import Cause, Change, Kind

KINDS: tuple[Kind, ...] = ("left", "entered")
CAUSES: tuple[Cause, ...] = ("arrived", "displaced", "expired", "refilled", "registered", "unsubscribed")
LEFT, ENTERED = range(len(KINDS))
ARRIVED, DISPLACED, EXPIRED, REFILLED, REGISTERED, UNSUBSCRIBED = range(len(CAUSES))

Ids = Callable[[NDArray[np.int64]], Sequence[str]]
Lists = dict[str, list[tuple[int, float]]]
"""Subscription -> its list, best first, as (message, score). A subscription with an empty list is not in it."""


class ChangeColumns(NamedTuple):
    """Changes in the order that `model.Change` promises; all columns have one length."""

    seq: NDArray[np.int64]  # the newest accepted message at that moment, -1 before the first
    subscription: NDArray[np.int64]  # slot of the subscription
    kind: NDArray[np.uint8]  # index into KINDS
    message: NDArray[np.int64]  # which message
    rank: NDArray[np.int32]  # from 1; before the operation if it left, after it if it entered
    score: NDArray[np.float32]
    cause: NDArray[np.uint8]  # index into CAUSES


TYPES = (np.int64, np.int64, np.uint8, np.int64, np.int32, np.float32, np.uint8)

SCHEMA = pa.schema(
    [
        ("seq", pa.int64()),
        ("subscription", pa.dictionary(pa.int32(), pa.string())),
        ("kind", pa.dictionary(pa.int8(), pa.string())),
        ("message", pa.int64()),
        ("rank", pa.int32()),
        ("score", pa.float32()),
        ("cause", pa.dictionary(pa.int8(), pa.string())),
    ]
)
"""The columns of the tables that `subscribe_many` and `publish_many` return."""


def columns_of(rows: Sequence[Sequence[float]]) -> ChangeColumns:
    """Columns from rows of (seq, slot, kind, message, rank, score, cause)."""
    columns = zip(*rows, strict=True) if rows else [()] * len(TYPES)
    return ChangeColumns(*(np.array(column, dtype) for column, dtype in zip(columns, TYPES, strict=True)))


NO_CHANGES = columns_of([])


def as_changes(columns: ChangeColumns, ids: Ids) -> list[Change]:
    """The changes as tuples; `ids` names the slots."""
    if not len(columns.seq):
        return []
    kinds = [KINDS[kind] for kind in columns.kind.tolist()]
    causes = [CAUSES[cause] for cause in columns.cause.tolist()]
    plain = (columns.message.tolist(), columns.rank.tolist(), columns.score.tolist())
    names = ids(columns.subscription)
    return list(map(Change, columns.seq.tolist(), names, kinds, *plain, causes))


def as_table(columns: ChangeColumns, ids: Ids) -> pa.Table:
    """The changes as an Arrow table of SCHEMA. Each subscription's id is written once, in the dictionary."""
    slots = columns.subscription
    top = int(slots.max()) + 1 if len(slots) else 0
    if top <= 8 * len(slots):  # marking beats sorting once changes are not rare among the slots
        marks = np.zeros(top, np.bool_)
        marks[slots] = True
        distinct = np.flatnonzero(marks).astype(np.int64)
        place = np.cumsum(marks, dtype=np.int32) - np.int32(1)
        indices = place[slots]
    else:
        distinct, inverse = np.unique(slots, return_inverse=True)
        indices = inverse.astype(np.int32)
    names = pa.array(ids(distinct), pa.string())
    arrays = [
        pa.array(columns.seq),
        pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), names),
        pa.DictionaryArray.from_arrays(pa.array(columns.kind.view(np.int8)), pa.array(KINDS)),
        pa.array(columns.message),
        pa.array(columns.rank),
        pa.array(columns.score),
        pa.DictionaryArray.from_arrays(pa.array(columns.cause.view(np.int8)), pa.array(CAUSES)),
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def from_table(table: pa.Table) -> list[Change]:
    """The rows of a table of changes as tuples."""
    columns: list[list[Any]] = [table.column(name).to_pylist() for name in SCHEMA.names]
    return list(map(Change, *columns))


def replay(lists: Lists, changes: Iterable[Change] | pa.Table) -> Lists:
    """Apply changes to `lists` in place. From empty lists, all changes of an engine rebuild its lists exactly.

    A change that does not fit (what leaves is not there, what enters has no such rank) raises ValueError.
    """
    for change in from_table(changes) if isinstance(changes, pa.Table) else changes:
        ranked = lists.setdefault(change.subscription, [])
        if change.kind == "entered":
            if not 1 <= change.rank <= len(ranked) + 1:
                raise ValueError(f"a list of {len(ranked)} has no place for {change}")
            ranked.insert(change.rank - 1, (change.message, change.score))
        else:
            place = next((i for i, (message, _) in enumerate(ranked) if message == change.message), None)
            if place is None:
                raise ValueError(f"not in the list: {change}")
            del ranked[place]
        if not ranked:
            del lists[change.subscription]
    return lists
