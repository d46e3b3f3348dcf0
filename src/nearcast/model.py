"""The plain values that go in and out: windows, changes, ranked messages. Frozen, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from nearcast.errors import InvalidInput

MAX_K = 1000
"""The largest list one subscription may ask for."""

MAX_WINDOW = 1 << 28
"""The most messages a window may hold."""

Kind = Literal["entered", "left"]
Cause = Literal["arrived", "displaced", "expired", "refilled", "registered", "unsubscribed"]


class Ranked(NamedTuple):
    """One place in a subscription's list."""

    seq: int
    id: str | None
    score: float
    time: int
    x: float
    y: float
    payload: Any


class Change(NamedTuple):
    """One message that entered or left one top-k list.

    `seq` is the newest accepted message at that moment (-1 before the first). Changes are net: what differs between
    the list before the operation and after it. They come in order of `seq`, then of registration, those that left
    first (best rank first), then those that entered (best rank first). `rank` counts from 1: of a message that left it
    is its rank before the operation, of one that entered its rank after it.
    """

    seq: int
    subscription: str
    kind: Kind
    message: int
    rank: int
    score: float
    cause: Cause


@dataclass(frozen=True)
class Last:
    """The newest `count` messages are live."""

    count: int

    def __post_init__(self) -> None:
        if not isinstance(self.count, int) or isinstance(self.count, bool) or not 1 <= self.count <= MAX_WINDOW:
            raise InvalidInput("window", f"last(n) takes a whole number from 1 to {MAX_WINDOW}, not {self.count!r}")


@dataclass(frozen=True)
class Within:
    """A message is live while `time > now - duration_ms`."""

    duration_ms: int

    def __post_init__(self) -> None:
        whole = isinstance(self.duration_ms, int) and not isinstance(self.duration_ms, bool)
        if not whole or not 1 <= self.duration_ms <= 1 << 53:
            raise InvalidInput("window", f"within(...) takes a duration of at least 1 ms, not {self.duration_ms!r}")


Window = Last | Within


def last(count: int) -> Last:
    """A window of the newest `count` messages."""
    return Last(count)


def within(
    *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0, milliseconds: float = 0
) -> Within:
    """A window of the messages of the last stretch of message time, in whole milliseconds."""
    total = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + milliseconds
    if not total < 1 << 53:  # also refuses NaN
        raise InvalidInput("window", f"within(...) takes a finite duration, not {total!r} ms")
    return Within(round(total))
