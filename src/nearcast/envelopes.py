"""What travels along with the messages of the window and decides nothing: id, payload, time, place.

A first-in first-out log in chunks. A large batch is a chunk of its own whose Arrow columns are kept as they came;
single messages and small batches share a chunk of Python values. Whole chunks go once all their messages are dead.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearcast.errors import InvalidInput, UnknownMessage
from nearcast.snapshot import Contents

LOOSE = 1024
"""Messages a chunk of Python values takes, and the smallest batch that gets a chunk of its own."""

Column = Any
"""One value per message, as a sequence or an Arrow column; None = None for every message."""


class Envelope(NamedTuple):
    """One message as it was published, but for its text."""

    id: str | None
    payload: Any
    time: int
    x: float
    y: float


class Chunk(NamedTuple):
    """Messages `first`, `first` + 1, …"""

    first: int
    times: Any
    x: Any
    y: Any
    ids: Any
    payloads: Any
    form: str  # loose: Python's columns, which may still grow; arrow: as they came; encoded: as `encoded` wrote them


def loose_chunk(first: int) -> Chunk:
    return Chunk(first, array("q"), array("d"), array("d"), [], [], "loose")


class Envelopes:
    """The log. `start` is the oldest message kept, `end` the next one to come."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.end = start
        self._chunks = [loose_chunk(start)]

    def __len__(self) -> int:
        return self.end - self.start

    def append(self, envelope: Envelope) -> None:
        """Take one message."""
        chunk = self._chunks[-1]
        if chunk.form != "loose" or len(chunk.times) >= LOOSE:
            chunk = loose_chunk(self.end)
            self._chunks.append(chunk)
        chunk.ids.append(envelope.id)
        chunk.payloads.append(envelope.payload)
        chunk.times.append(envelope.time)
        chunk.x.append(envelope.x)
        chunk.y.append(envelope.y)
        self.end += 1

    def extend(
        self, ids: Column, payloads: Column, times: NDArray[np.int64], x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> None:
        """Take a batch."""
        count = len(times)
        if count < LOOSE:
            plain = values(ids, count), values(payloads, count), times.tolist(), x.tolist(), y.tolist()
            for row in zip(*plain, strict=True):
                self.append(Envelope(*row))
        else:
            self._chunks.append(Chunk(self.end, times, x, y, ids, payloads, "arrow"))
            self.end += count

    def get(self, seq: int) -> Envelope:
        """The envelope of a message that is still kept."""
        if not self.start <= seq < self.end:
            raise UnknownMessage(seq)
        chunk = self._chunks[bisect_right(self._chunks, seq, key=lambda chunk: chunk.first) - 1]
        i = seq - chunk.first
        if chunk.form == "loose":
            return Envelope(chunk.ids[i], chunk.payloads[i], chunk.times[i], chunk.x[i], chunk.y[i])
        id, payload = values(chunk.ids, 1, i)[0], values(chunk.payloads, 1, i)[0]
        payload = decoded(payload) if chunk.form == "encoded" else payload
        return Envelope(id, payload, int(chunk.times[i]), float(chunk.x[i]), float(chunk.y[i]))

    def newer_than(self, time: int) -> int:
        """The first kept message whose time is later than `time` (`end` if there is none)."""
        for chunk in self._chunks:
            if len(chunk.times) and chunk.times[-1] > time:
                return chunk.first + bisect_right(chunk.times, time, max(0, self.start - chunk.first))
        return self.end

    def drop_before(self, seq: int) -> None:
        """Forget the messages before `seq`."""
        self.start = max(self.start, min(seq, self.end))
        dead = 0
        while dead < len(self._chunks) - 1 and self._chunks[dead + 1].first <= self.start:
            dead += 1
        del self._chunks[:dead]

    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Times, x and y of all kept messages."""
        parts = [(c.times[i:], c.x[i:], c.y[i:]) for c in self._chunks for i in [max(0, self.start - c.first)]]
        times, x, y = zip(*parts, strict=True)
        return np.concatenate(times, dtype=np.int64), np.concatenate(x, dtype=float), np.concatenate(y, dtype=float)

    def save(self) -> Contents:
        """Everything. A payload that cannot be written raises InvalidInput with its message's number."""
        times, x, y = self.columns()
        parts = []
        for chunk in self._chunks:
            i = max(0, self.start - chunk.first)
            count = len(chunk.times) - i
            ids = pa.array(values(chunk.ids, count, i), pa.large_string())
            if chunk.form == "encoded":
                payloads = chunk.payloads[i:]
            else:
                payloads = encoded(values(chunk.payloads, count, i), chunk.first + i)
            parts.append(pa.table({"id": ids, "payload": payloads}))
        return Contents({"start": self.start}, {"times": times, "x": x, "y": y}, {"messages": pa.concat_tables(parts)})

    @classmethod
    def load(cls, saved: Contents) -> Envelopes:
        """The log that `save` wrote."""
        log = cls(saved.meta["start"])
        times, x, y = (saved.arrays[name] for name in ("times", "x", "y"))
        ids, payloads = saved.tables["messages"].columns
        if not len(times) == len(x) == len(y) == len(ids):
            raise ValueError("the columns of the messages differ in length")
        if len(times):
            log._chunks = [Chunk(log.start, times, x, y, ids, payloads, "encoded")]
            log.end += len(times)
        return log


def values(column: Column, count: int, start: int = 0) -> Sequence[Any]:
    """`count` values of a column from `start` on, as Python objects."""
    if column is None:
        return [None] * count
    part = column[start : start + count]
    plain: Sequence[Any] = part.to_pylist() if isinstance(part, pa.Array | pa.ChunkedArray) else part
    return plain


def encoded(payloads: Sequence[Any], first: int) -> pa.Array:
    """Payloads as binary: nothing for None, 'b' + bytes, or 'j' + JSON."""
    blobs: list[bytes | None] = []
    for seq, payload in enumerate(payloads, first):
        try:
            if isinstance(payload, bytes):
                blobs.append(b"b" + payload)
            else:
                blobs.append(None if payload is None else b"j" + json.dumps(payload).encode())
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput("payload", f"of message {seq} cannot be written to a snapshot: {error}") from error
    return pa.array(blobs, pa.large_binary())


def decoded(blob: bytes | None) -> Any:
    if blob is None:
        return None
    return blob[1:] if blob[:1] == b"b" else json.loads(blob[1:])
