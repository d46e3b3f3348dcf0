"""The engine's state as a snapshot holds it: what is known, not how it lies in memory.

Buffers and thresholds are kept, so a restored engine does the same work as the original; lists, calendar and message
index are built anew. Every column is checked before a kernel sees it: kernels trust their input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearcast.kernels import capture, layout
from nearcast.kernels.layout import MessageIndex, Messages
from nearcast.shard import Shard
from nearcast.snapshot import Contents

Array = NDArray[Any]
MessageColumns = tuple[Array, Array, Array, Array, Array, Array]
"""Of messages: points, Morton codes, times, and their vectors' offsets, terms, weights."""
TakeIn = Callable[[MessageColumns, int, int], None]
"""Takes messages from one row to another into window and message index."""


def save_messages(messages: Messages) -> dict[str, Array]:
    """The live window."""
    first, end = int(messages.control[layout.A_FIRST]), int(messages.control[layout.A_NEXT])
    offsets = np.zeros(end - first + 1, np.int64)
    capture.message_spans(messages, first, end, offsets)
    columns: dict[str, Array] = {
        "offsets": offsets,
        "points": np.empty((end - first, 3)),
        "times": np.empty(end - first),
        "codes": np.empty(end - first, np.uint32),
        "terms": np.empty(offsets[-1], np.uint32),
        "weights": np.empty(offsets[-1], np.float32),
    }
    capture.read_messages(messages, first, end, *columns.values())
    return columns


def load_messages(
    messages: Messages, index: MessageIndex, first: int, columns: dict[str, Array], terms: int, take_in: TakeIn
) -> None:
    """Fill an empty window by `take_in`."""
    c = typed(
        columns, points=np.float64, codes=np.uint32, times=np.float64, offsets=np.int64, terms=np.uint32,
        weights=np.float32,
    )  # fmt: skip
    count = len(c["offsets"]) - 1
    require(capture.sound_vectors(c["offsets"], c["terms"], c["weights"], terms), "messages' vectors")
    require(c["points"].shape == (count, 3) and bool(np.isfinite(c["points"]).all()), "messages' places")
    require(len(c["codes"]) == len(c["times"]) == count and bool((np.diff(c["times"]) >= 0).all()), "messages' times")
    messages.control[layout.A_FIRST] = messages.control[layout.A_NEXT] = first
    index.control[layout.I_HEAD_FIRST] = index.control[layout.I_SMALL_FIRST] = first
    take_in((c["points"], c["codes"], c["times"], c["offsets"], c["terms"], c["weights"]), 0, count)


def save_subscriptions(shards: list[Shard], homes: Array, rows: Array, newest: int) -> dict[str, Array]:
    """Vectors, thresholds and buffers of the subscriptions that live in these rows of these shards."""
    offsets, entry_offsets = np.zeros((2, len(rows) + 1), np.int64)
    here = [np.flatnonzero(homes == number) for number in range(len(shards))]
    for shard, chosen in zip(shards, here, strict=True):
        capture.subscription_spans(shard.subscriptions, rows, chosen, offsets, entry_offsets)
    np.cumsum(offsets, out=offsets)
    np.cumsum(entry_offsets, out=entry_offsets)
    columns: dict[str, Array] = {
        "offsets": offsets,
        "terms": np.empty(offsets[-1], np.uint32),
        "weights": np.empty(offsets[-1], np.float32),
        "entry_offsets": entry_offsets,
        "entry_scores": np.empty(entry_offsets[-1], np.float32),
        "entry_seqs": np.empty(entry_offsets[-1], np.int64),
    }
    fixed: dict[str, Array] = {"points": np.empty((len(rows), 3)), "codes": np.empty(len(rows), np.uint32)}
    fixed |= {"alphas": np.empty(len(rows), np.float32), "thetas": np.empty(len(rows), np.float32)}
    fixed |= {"ks": np.empty(len(rows), np.uint32), "numbers": np.empty(len(rows), np.uint32)}
    for shard, chosen in zip(shards, here, strict=True):
        s = shard.subscriptions
        capture.read_subscriptions(s, rows, chosen, newest, *columns.values())
        at = rows[chosen]
        fixed["points"][chosen] = s.f64[at, :3]
        fixed["codes"][chosen] = s.code[at]
        fixed["alphas"][chosen] = s.f32[at, layout.S_ALPHA]
        fixed["thetas"][chosen] = s.f32[at, layout.S_THETA]
        fixed["ks"][chosen] = s.u32[at, layout.S_K]
        fixed["numbers"][chosen] = s.u32[at, layout.S_NUMBER]
    return columns | fixed


def checked_subscriptions(
    columns: dict[str, Array], count: int, first: int, newest: int, terms: int
) -> dict[str, Array]:
    """The columns of `save_subscriptions`, with types and contents as kernels need them."""
    c = typed(
        columns, offsets=np.int64, terms=np.uint32, weights=np.float32, entry_offsets=np.int64, entry_scores=np.float32,
        entry_seqs=np.int64, points=np.float64, codes=np.uint32, alphas=np.float32, thetas=np.float32, ks=np.uint32,
        numbers=np.uint32,
    )  # fmt: skip
    lengths = {len(c[name]) for name in ("points", "codes", "alphas", "thetas", "ks", "numbers")}
    offsets = {len(c["offsets"]), len(c["entry_offsets"])}
    require(lengths == {count} and offsets == {count + 1}, "numbers of subscriptions")
    require(capture.sound_vectors(c["offsets"], c["terms"], c["weights"], terms), "subscriptions' vectors")
    require(bool((np.diff(c["offsets"]) > 0).all()), "subscriptions' keywords")
    buffers = (c["entry_offsets"], c["entry_scores"], c["entry_seqs"], c["thetas"])
    require(capture.sound_buffers(*buffers, first, newest), "buffers")
    require(c["points"].shape == (count, 3) and bool(np.isfinite(c["points"]).all()), "subscriptions' places")
    return c


def typed(columns: dict[str, Array], **types: Any) -> dict[str, Array]:
    """The named columns, contiguous and of these types."""
    return {name: np.ascontiguousarray(columns[name], dtype) for name, dtype in types.items()}


def require(sound: bool, what: str) -> None:
    """A restored state must hold together."""
    if not sound:
        raise ValueError(f"the {what} are not sound")


def contents(prefixed: dict[str, dict[str, Array]], plain: dict[str, Any]) -> Contents:
    """One flat set of arrays from several."""
    arrays = {f"{prefix}.{name}": array for prefix, columns in prefixed.items() for name, array in columns.items()}
    return Contents(plain, arrays, {})


def part(saved: Contents, prefix: str) -> dict[str, Array]:
    """One of them back."""
    start = prefix + "."
    return {name.removeprefix(start): array for name, array in saved.arrays.items() if name.startswith(start)}
