"""What travels between the components: named columns of plain arrays, cut, joined, and written as Arrow.

A kind of stream is a frozen dataclass of arrays. Its first columns have one value a row; after a column whose name
ends in `offsets` stand those that it cuts: row i has their places offsets[i] .. offsets[i + 1]. In Arrow these are
lists. A column of one name has one type in all streams, and `of` is the one gate: it casts, so that a kernel is
compiled once and never meets what lies in memory another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from nearcast.spark.distribution.batches import ragged

Array = NDArray[Any]
Rows = NDArray[np.int64]

TYPES: dict[str, type] = {
    "numbers": np.int64,  # of a subscription: its registration number, never used again
    "seqs": np.int64,  # of a message: consecutive over the whole stream
    "times": np.int64,  # milliseconds, never descending
    "x": np.float64,
    "y": np.float64,
    "alphas": np.float32,
    "ks": np.uint32,
    "offsets": np.int64,
    "terms": np.uint32,
    "weights": np.float32,
    "goals": np.int32,  # the partition that the row goes to
    "homes": np.int32,  # the partition that holds the subscription's buffer
    "holders": np.int32,  # how many partitions hold the subscription; 0: this one no longer
    "placed": np.int32,  # by how many of its words it is placed (see `distribution.prefix`)
    "thetas": np.float32,
    "ranks": np.int64,  # how many of the best a re-evaluation asks for
    "works": np.float64,  # what a search has cost, counted, in units of `kernels.refill`
    "scores": np.float32,
    "entry_offsets": np.int64,
    "entry_scores": np.float32,
    "entry_seqs": np.int64,
}


@dataclass(frozen=True, eq=False)
class Columns:
    """The base of all streams."""

    @classmethod
    def of(cls, **columns: ArrayLike) -> Self:
        """Columns of any kind, cast."""
        return cls(**{name: _cast(name, values) for name, values in columns.items()})

    @classmethod
    def none(cls) -> Self:
        """No rows."""
        return cls.of(**{name: [0] if name.endswith("offsets") else [] for name in cls.names()})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(field.name for field in fields(cls))

    @classmethod
    def cut_by(cls) -> dict[str, str]:
        """Each column that holds lists, and its offsets."""
        cuts: dict[str, str] = {}
        offsets = ""
        for name in cls.names():
            if name.endswith("offsets"):
                offsets = name
            elif offsets:
                cuts[name] = offsets
        return cuts

    @property
    def rows(self) -> int:
        return len(getattr(self, self.names()[0]))

    @property
    def nbytes(self) -> int:
        """What all columns take."""
        return sum(getattr(self, name).nbytes for name in self.names())

    def take(self, rows: Rows) -> Self:
        """These rows, in this order."""
        cuts = self.cut_by()
        taken: dict[str, Array] = {}
        places: dict[str, Rows] = {}
        for name in self.names():
            values = getattr(self, name)
            if name.endswith("offsets"):
                taken[name], places[name] = ragged(values, rows)
            else:
                taken[name] = values[places[cuts[name]]] if name in cuts else values[rows]
        return type(self)(**taken)

    def split(self, goals: NDArray[np.int32], count: int) -> list[Self]:
        """For each of `count` goals its rows, in their order."""
        return [self.take(np.flatnonzero(goals == goal)) for goal in range(count)]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """One after the other."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls.none()
        joined: dict[str, Array] = {}
        for name in cls.names():
            columns = [getattr(part, name) for part in parts]
            if name.endswith("offsets"):
                starts = np.cumsum([0, *(column[-1] for column in columns)])
                columns = [[0], *(column[1:] + start for column, start in zip(columns, starts[:-1], strict=True))]
            joined[name] = np.concatenate(columns)
        return cls.of(**joined)

    def to_arrow(self) -> pa.Table:
        """The same as a table; what is cut becomes lists."""
        cuts = self.cut_by()
        columns = {}
        for name in self.names():
            values = pa.array(getattr(self, name))
            if name in cuts:
                columns[name] = pa.LargeListArray.from_arrays(pa.array(getattr(self, cuts[name])), values)
            elif not name.endswith("offsets"):
                columns[name] = values
        return pa.table(columns)

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Self:
        """What `to_arrow` wrote, whole or a slice of it."""
        cuts = cls.cut_by()
        columns: dict[str, ArrayLike] = {}
        for name in cls.names():
            if name.endswith("offsets"):
                continue
            column = table.column(name).combine_chunks()
            if name in cuts:
                offsets = column.offsets.to_numpy()
                columns[cuts[name]] = offsets - offsets[0]
                column = column.flatten()
            columns[name] = column.to_numpy(zero_copy_only=False)
        return cls.of(**columns)


def _cast(name: str, values: ArrayLike) -> Array:
    return np.require(np.asarray(values, dtype=TYPES[name]), requirements=["C", "W"])
