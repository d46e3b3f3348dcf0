"""One family of errors. Each names the field that was wrong and, in a batch, the row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class NearcastError(Exception):
    """Whatever Nearcast refuses. A refused operation has changed nothing."""


class InvalidInput(NearcastError, ValueError):
    """A value that cannot be taken: `field` says which one, the message says what would be."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class RowError(NamedTuple):
    """One refused row of a batch."""

    row: int
    field: str
    problem: str

    def __str__(self) -> str:
        return f"row {self.row}, {self.field}: {self.problem}"


class InvalidBatch(InvalidInput):
    """A batch of which nothing was taken; `rows` lists every bad row (empty: the table itself is wrong)."""

    def __init__(self, rows: Sequence[RowError]) -> None:
        shown = "; ".join(str(row) for row in rows[:5])
        more = f"; and {len(rows) - 5} more rows" if len(rows) > 5 else ""
        super().__init__(rows[0].field, f"{shown}{more}")
        self.rows = list(rows)


class UnknownSubscription(NearcastError, KeyError):
    """No subscription has this id."""

    def __init__(self, subscription: object) -> None:
        super().__init__(f"id: no subscription {subscription!r} is registered")

    def __str__(self) -> str:
        return str(self.args[0])


class DuplicateSubscription(InvalidInput):
    """A subscription with this id is registered already."""

    def __init__(self, subscription: str) -> None:
        super().__init__("id", f"a subscription {subscription!r} is registered already; unsubscribe it first")


class UnknownMessage(NearcastError, KeyError):
    """No live message has this number."""

    def __init__(self, seq: object) -> None:
        super().__init__(f"seq: message {seq!r} is not in the window")

    def __str__(self) -> str:
        return str(self.args[0])


class DamagedSnapshot(NearcastError):
    """A snapshot that cannot be restored: damaged, incomplete, or of another version."""
