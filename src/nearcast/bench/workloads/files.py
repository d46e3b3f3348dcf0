"""A workload from a Parquet file with the columns text, lon, lat and ts (milliseconds since the epoch, may be null).

With times the stream is the file in order of time, with its own bursts. Without, it is the file in an order drawn from
the seed, at synthetic times. Subscriptions are made from rows that the stream does not use; if these do not suffice,
from all.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nearcast.bench.workloads.documents import Documents
from nearcast.bench.workloads.workload import CHUNK, Workload, stream_key
from nearcast.errors import InvalidInput
from nearcast.text import MAX_TEXT, Vocabulary

COLUMNS = ("text", "lon", "lat", "ts")


class FileWorkload(Workload):
    """The rows of one file. Texts stay in memory as Arrow keeps them; tables are made as they are asked for."""

    def __init__(
        self, path: str | PathLike[str], messages: int, seed: int, rate: float | None = None, bursts: float = 1.0
    ) -> None:
        super().__init__(Path(path).stem, messages, seed, rate, bursts)
        rows = self._usable(_read(path))
        self._text = rows["text"]
        self._x, self._y = rows["lon"].to_numpy(), rows["lat"].to_numpy()
        self.box = _box(self._x, self._y)
        self._own_times = self._times_of(rows) if rate is None and bursts == 1.0 else None
        if self._own_times is None:
            self._order = np.random.default_rng(stream_key(seed, "message")).permutation(self.rows)
        else:
            self._order = np.argsort(self._own_times, kind="stable")
        if messages > self.rows:
            self.notes.append(f"{messages} messages from {self.rows} rows: the file repeats")
        self._words = Vocabulary()

    @property
    def rows(self) -> int:
        """Usable rows of the file."""
        return int(self._x.size)

    def batch(self, first: int, count: int) -> pa.Table:
        rows = self._stream_rows(first, count)
        return pa.table(
            {
                "text": self._text.take(pa.array(rows)),
                "x": self._x[rows],
                "y": self._y[rows],
                "time": self._times(first, count, rows),
            }
        )

    def documents(self, first: int, count: int) -> Documents:
        return self._documents(self._stream_rows(first, count))

    def sources(self, count: int, seed: int) -> Iterator[Documents]:
        """Rows outside the stream, each once; then all rows, over and over."""
        rng = np.random.default_rng(stream_key(seed, "source"))
        usable = False
        rows = self._order[self.messages :]
        if rows.size < count:
            self.notes.append(f"{count} subscriptions, {rows.size} rows outside the stream: rows are reused")
            rows = self._order
        while True:
            order = rng.permutation(rows)
            for start in range(0, order.size, CHUNK):
                batch = self._documents(order[start : start + CHUNK])
                usable = usable or batch.words.size > 0
                yield batch
            if not usable and rows.size == self.rows:
                raise InvalidInput("data", "no row's text has a usable word")
            rows = self._order

    def spell(self, words: NDArray[np.int32]) -> pa.StringArray:
        return pa.array([self._words.word(word) for word in words.tolist()], pa.string())

    def _documents(self, rows: NDArray[np.int64]) -> Documents:
        vectors = self._words.encode(self._text.take(pa.array(rows)).to_pylist(), count=True)
        return Documents(vectors.offsets.astype(np.int64), vectors.terms.astype(np.int32), self._x[rows], self._y[rows])

    def _stream_rows(self, first: int, count: int) -> NDArray[np.int64]:
        return self._order[np.arange(first, first + count) % self.rows]

    def _times(self, first: int, count: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._own_times is None:
            return self.synthetic_times(first, count)
        span = int(self._own_times.max() - self._own_times.min()) + 1  # a repetition begins when the file has ended
        return self._own_times[rows] + np.arange(first, first + count) // self.rows * span

    def _usable(self, table: pa.Table) -> pa.Table:
        lon, lat = table["lon"], table["lat"]
        # A comparison with null is null, with NaN false: both fall out.
        inside = pc.and_(pc.less_equal(pc.abs(lon), 180.0), pc.less_equal(pc.abs(lat), 90.0))
        good = table.filter(pc.and_(inside, pc.less_equal(pc.utf8_length(table["text"]), MAX_TEXT)))
        if good.num_rows < table.num_rows:
            self.notes.append(f"{table.num_rows - good.num_rows} rows left out: text or place is missing or too large")
        if good.num_rows == 0:
            raise InvalidInput("data", "the file has no usable row")
        return good

    def _times_of(self, table: pa.Table) -> NDArray[np.int64] | None:
        missing = table["ts"].null_count
        if missing and missing < table.num_rows:
            self.notes.append(f"{missing} rows have no time, so all get synthetic ones")
        return None if missing else table["ts"].to_numpy()


def _read(path: str | PathLike[str]) -> pa.Table:
    """The four columns, in the types that we use."""
    try:
        file = pq.ParquetFile(path)
        missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
        if missing:
            raise InvalidInput("data", f"{path} has no column {', '.join(missing)}; it needs {', '.join(COLUMNS)}")
        table = file.read(columns=list(COLUMNS))
        if pa.types.is_timestamp(table.schema.field("ts").type):
            table = table.set_column(3, "ts", table["ts"].cast(pa.timestamp("ms"), safe=False))
        # large_string: a file may have more than 2 GB of text.
        types = (pa.large_string(), pa.float64(), pa.float64(), pa.int64())
        table = table.select(COLUMNS).cast(pa.schema(list(zip(COLUMNS, types, strict=True))))
        return table.combine_chunks()
    except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInput("data", f"{path} cannot be read as Parquet: {error}") from error


def _box(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """The box around all places, with some width even if they are one."""
    margin = 1e-6
    return float(x.min()) - margin, float(y.min()) - margin, float(x.max()) + margin, float(y.max()) + margin
