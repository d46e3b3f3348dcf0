"""Batches come in as Arrow tables: the rules of `intake`, a column at a time.

A wrong column is an error of the whole table (InvalidInput). A wrong value is an error of its row: the batch is refused
(InvalidBatch), or, if the caller passed a list for them, the bad rows are reported and left out. Columns that are not
known are left alone. An empty table is a batch of nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from numpy.typing import NDArray

from nearcast import intake
from nearcast.errors import DuplicateSubscription, InvalidBatch, InvalidInput, RowError
from nearcast.intake import MessageRows, SubscriptionRows
from nearcast.model import MAX_K
from nearcast.space import Space
from nearcast.text import MAX_TEXT, TermVectors, Vocabulary, Words, text_problem

Mask = NDArray[np.bool_]
PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}


class Sieve:
    """Which rows are still good, and the first thing that was wrong with each of the others."""

    def __init__(self, count: int) -> None:
        self.good: Mask = np.ones(count, np.bool_)
        self.errors: list[RowError] = []

    def refuse(self, bad: Mask, field: str, problem: Callable[[int], str]) -> None:
        for row in np.flatnonzero(bad & self.good).tolist():
            self.add(row, field, problem(row))

    def add(self, row: int, field: str, problem: str) -> None:
        if self.good[row]:
            self.good[row] = False
            self.errors.append(RowError(row, field, problem))

    def settle(self, rejected: list[RowError] | None) -> None:
        """Bad rows go to `rejected`, or raise."""
        if rejected is not None:
            rejected.extend(sorted(self.errors))
        elif self.errors:
            raise InvalidBatch(sorted(self.errors))


def subscriptions(
    source: Any, space: Space, vocabulary: Vocabulary, known: Container[str], rejected: list[RowError] | None
) -> SubscriptionRows:
    """The good rows of a table of subscriptions."""
    table = as_table(source)
    sieve = Sieve(table.num_rows)
    ids = id_column(table, sieve, required=True).to_pylist()
    texts = text_column(table, sieve)
    x, y = place_columns(table, space, sieve)
    k = number_column(table, "k", sieve, default=intake.DEFAULT_K, whole=True)
    sieve.refuse(~((k >= 1) & (k <= MAX_K)), "k", lambda row: f"{intake.K_RULE}, not {k[row]}")
    alpha = number_column(table, "alpha", sieve, default=intake.DEFAULT_ALPHA)
    sieve.refuse(~((alpha >= 0) & (alpha <= 1)), "alpha", lambda row: f"{intake.ALPHA_RULE}, not {alpha[row]}")
    words = len(vocabulary)
    rows, vectors = encode(vocabulary, texts, sieve, count=False)
    usable = np.ones(table.num_rows, np.bool_)
    usable[rows] = np.diff(vectors.offsets) > 0
    sieve.refuse(~usable, "text", lambda row: intake.NO_KEYWORD)
    sieve.refuse(repeated(ids, known, sieve.good), "id", lambda row: DuplicateSubscription(ids[row]).problem)
    if sieve.errors:  # refused rows may not leave their words behind
        vocabulary._forget(words)
        sieve.settle(rejected)
        rows, vectors = encode(vocabulary, texts, sieve, count=False)
    k, alpha = k[rows].astype(np.int32), alpha[rows].astype(np.float32)
    return SubscriptionRows([ids[row] for row in rows.tolist()], x[rows], y[rows], k, alpha, vectors)


def messages(source: Any, space: Space, vocabulary: Vocabulary, rejected: list[RowError] | None) -> MessageRows:
    """The good rows of a table of messages. Their words are counted, so from here on nothing may be refused."""
    table = as_table(source)
    sieve = Sieve(table.num_rows)
    texts = text_column(table, sieve)
    x, y = place_columns(table, space, sieve)
    times = time_column(table, sieve)
    ids = id_column(table, sieve, required=False) if "id" in table.column_names else None
    payloads = table.column("payload") if "payload" in table.column_names else None
    if rejected is None:
        sieve.settle(None)
    rows, vectors = encode(vocabulary, texts, sieve, count=True, all_or_none=rejected is None)
    sieve.settle(rejected)
    if len(rows) < table.num_rows:
        x, y, times, good = x[rows], y[rows], times[rows], pa.array(rows)
        ids, payloads = (None if values is None else values.take(good) for values in (ids, payloads))
    return MessageRows(x, y, times, ids, payloads, vectors)


def encode(
    vocabulary: Vocabulary, texts: Sequence[Words], sieve: Sieve, *, count: bool, all_or_none: bool = False
) -> tuple[NDArray[np.int64], TermVectors]:
    """The good rows and their vectors; rows with too many words are refused on the way, before any is counted."""
    while True:
        rows = np.flatnonzero(sieve.good)
        good = texts if len(rows) == len(texts) else [texts[row] for row in rows.tolist()]
        try:
            return rows, vocabulary.encode(good, count=count)
        except InvalidBatch as error:
            bad = error.rows
        except InvalidInput as error:
            if len(rows) != 1:
                raise
            bad = [RowError(0, error.field, error.problem)]
        for row, field, problem in bad:
            sieve.add(int(rows[row]), field, problem)
        if all_or_none:
            sieve.settle(None)


def repeated(ids: Sequence[str], known: Container[str], good: Mask) -> Mask:
    """Rows whose id is registered already, or stands in an earlier good row."""
    mask = np.zeros(len(good), np.bool_)
    taken: set[str] = set()
    for row in np.flatnonzero(good).tolist():
        mask[row] = ids[row] in taken or ids[row] in known
        taken.add(ids[row])
    return mask


def as_table(source: Any) -> pa.Table:
    """A table from a table, a record batch or anything else that offers itself as Arrow."""
    if isinstance(source, pa.Table):
        table = source
    elif isinstance(source, pa.RecordBatch) or hasattr(source, "__arrow_c_stream__"):
        table = pa.table(source)
    else:
        raise InvalidInput("table", f"takes an Arrow table or record batch, not {type(source).__name__}")
    for name in table.column_names:
        if table.column_names.count(name) > 1:
            raise InvalidInput(name, "stands in the table more than once")
    return table


def column(table: pa.Table, name: str, takes: str, fits: Callable[[pa.DataType], bool]) -> pa.ChunkedArray:
    """A column of a fitting type, its dictionary undone."""
    if name not in table.column_names:
        raise InvalidInput(name, "the table has no such column")
    values = table.column(name)
    if kinds.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not kinds.is_null(values.type) and not fits(values.type):
        raise InvalidInput(name, f"takes a column of {takes}, not {table.column(name).type}")
    return values


def nulls(values: pa.ChunkedArray) -> Mask:
    return np.asarray(values.is_null().to_numpy(), dtype=np.bool_)


def missing(row: int) -> str:
    return "is missing (null)"


def is_text(kind: pa.DataType) -> bool:
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def is_keywords(kind: pa.DataType) -> bool:
    if kinds.is_map(kind):
        return is_text(kind.key_type) and bool(kinds.is_floating(kind.item_type) or kinds.is_integer(kind.item_type))
    return bool(kinds.is_list(kind) or kinds.is_large_list(kind)) and is_text(kind.value_type)


def id_column(table: pa.Table, sieve: Sieve, *, required: bool) -> pa.ChunkedArray:
    """Ids; for messages null is none."""
    values = column(table, "id", "strings", is_text)
    if required and values.null_count:
        sieve.refuse(nulls(values), "id", missing)
    lengths = length(values).fill_null(1).to_numpy()
    sieve.refuse((lengths < 1) | (lengths > intake.MAX_ID), "id", lambda row: f"{intake.ID_RULE}, not {lengths[row]}")
    return values


def text_column(table: pa.Table, sieve: Sieve) -> list[Words]:
    """Texts, or keywords as lists or mappings, whichever column is there."""
    given = [name for name in ("text", "keywords") if name in table.column_names]
    if len(given) != 1:
        raise InvalidInput(
            "text", f"the table needs either a column text or a column keywords, it has {given or 'none'}"
        )
    if given == ["text"]:
        values = column(table, "text", "strings", is_text)
        lengths = length(values).fill_null(0).to_numpy()
        rule = f"characters are more than the {MAX_TEXT} that are taken"
        sieve.refuse(lengths > MAX_TEXT, "text", lambda row: f"{lengths[row]} {rule}")
        texts: list[Any] = values.to_pylist()
    else:
        values = column(table, "keywords", "lists of strings or maps of strings to numbers", is_keywords)
        texts = [
            pairs if pairs is None or not kinds.is_map(values.type) else dict(pairs) for pairs in values.to_pylist()
        ]
        problems = [None if text is None else text_problem(text) for text in texts]
        bad = np.array([problem is not None for problem in problems], np.bool_)
        sieve.refuse(bad, "keywords", lambda row: str(problems[row]))
    if values.null_count:
        sieve.refuse(nulls(values), given[0], missing)
    return texts


def length(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Characters of each string."""
    return pc.utf8_length(values.cast(pa.large_string())).cast(pa.int64())


def number_column(
    table: pa.Table, name: str, sieve: Sieve, default: float | None = None, whole: bool = False
) -> NDArray[Any]:
    """A column of numbers as float64 (whole numbers: int64)."""
    if default is not None and name not in table.column_names:
        return np.full(table.num_rows, default, np.int64 if whole else np.float64)
    fits = kinds.is_integer if whole else lambda kind: kinds.is_integer(kind) or kinds.is_floating(kind)
    values = column(table, name, "whole numbers" if whole else "numbers", fits)
    if values.null_count:
        sieve.refuse(nulls(values), name, missing)
        values = values.cast(pa.int64() if whole else pa.float64(), safe=False).fill_null(0)
    target = pa.int64() if whole else pa.float64()
    return np.asarray(values.cast(target, safe=False).to_numpy())


def place_columns(table: pa.Table, space: Space, sieve: Sieve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = number_column(table, "x", sieve), number_column(table, "y", sieve)
    for row, field, problem in space.problems(x, y):
        sieve.add(row, field, problem)
    return x, y


def time_column(table: pa.Table, sieve: Sieve) -> NDArray[np.int64]:
    """Milliseconds since the epoch, from integers or timestamps; without the column, the wall clock."""
    if "time" not in table.column_names:
        return np.full(table.num_rows, intake.now(), np.int64)
    fits = lambda kind: kinds.is_integer(kind) or kinds.is_timestamp(kind)  # noqa: E731
    values = column(table, "time", "whole milliseconds or timestamps", fits)
    per_second = PER_SECOND[values.type.unit] if kinds.is_timestamp(values.type) else 1000
    if kinds.is_uint64(values.type):
        values = pc.min_element_wise(values, pa.scalar(intake.MAX_TIME + 1, pa.uint64()), skip_nulls=False)
    if values.null_count:
        sieve.refuse(nulls(values), "time", missing)
    raw: NDArray[np.int64] = values.cast(pa.int64()).fill_null(0).to_numpy()
    limit = intake.MAX_TIME * per_second // 1000
    sieve.refuse((raw > limit) | (raw < -limit), "time", lambda row: f"{intake.TIME_RULE}, not {raw[row]}")
    kept = np.clip(raw, -limit, limit)
    return kept * (1000 // per_second) if per_second < 1000 else kept // (per_second // 1000)
