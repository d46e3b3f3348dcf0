"""What every workload offers, whether it is generated or read from a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearcast.bench.workloads.documents import DocumentCounts, Documents
from nearcast.bench.workloads.times import arrival_times
from nearcast.errors import InvalidInput
from nearcast.space import Space, earth, plane
from nearcast.text import TermVectors, Vocabulary

CHUNK = 50_000
"""Messages made at a time: enough to be fast, small beside what an engine keeps."""

SAMPLE = 200_000
"""Messages from which a vocabulary or a ranking of words is learned unless told otherwise."""

DEFAULT_RATE = 1000.0


class Encoded(NamedTuple):
    """A batch of messages for runs in which reading text is not measured."""

    vectors: TermVectors
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    time: NDArray[np.int64]


class Workload(ABC):
    """A stream of `messages` messages, and beside it messages from which subscriptions are made."""

    name: str
    messages: int
    seed: int
    box: tuple[float, float, float, float]
    """xmin, ymin, xmax, ymax of all places."""
    notes: list[str]
    """What a report must say about this workload: rows left out, rows used twice."""

    def __init__(self, name: str, messages: int, seed: int, rate: float | None, bursts: float) -> None:
        if messages < 1:
            raise InvalidInput("messages", f"takes at least 1, not {messages!r}")
        if seed < 0:
            raise InvalidInput("seed", f"takes a whole number from 0, not {seed!r}")
        self.name, self.messages, self.seed = name, messages, seed
        self.notes = []
        self._rate, self._bursts = rate, bursts

    @abstractmethod
    def batch(self, first: int, count: int) -> pa.Table:
        """The messages first .. first + count as a table: text string, x and y float64, time int64 (ms)."""

    @abstractmethod
    def documents(self, first: int, count: int) -> Documents:
        """The same messages as word numbers."""

    @abstractmethod
    def sources(self, count: int, seed: int) -> Iterator[Documents]:
        """Messages at random for `count` subscriptions, in batches without end, apart from the stream if possible."""

    @abstractmethod
    def spell(self, words: NDArray[np.int32]) -> pa.StringArray:
        """Word numbers as words."""

    def space(self, kind: Literal["plane", "earth"] = "plane", max_km: float | None = None) -> Space:
        """The paper's plane over all places, MaxDist its diagonal; or the earth with MaxDist `max_km`."""
        if kind == "plane":
            return plane(*self.box)
        return earth() if max_km is None else earth(max_km=max_km)

    def tables(self, chunk: int = CHUNK, first: int = 0, count: int | None = None) -> Iterator[pa.Table]:
        """All messages, or `count` from `first` on, in tables of `chunk` rows."""
        for start, size in self.spans(chunk, first, count):
            yield self.batch(start, size)

    def vocabulary(self, sample: int = SAMPLE) -> Vocabulary:
        """A vocabulary fitted on the stream's first messages, as an engine takes it."""
        tables = self.tables(count=min(sample, self.messages))
        return Vocabulary.fit(text for table in tables for text in table["text"].to_pylist())

    def encoded(
        self, vocabulary: Vocabulary, chunk: int = CHUNK, first: int = 0, count: int | None = None
    ) -> Iterator[Encoded]:
        """The same messages as term vectors; a vocabulary that is not fitted learns from them."""
        for table in self.tables(chunk, first, count):
            vectors = vocabulary.encode(table["text"].to_pylist(), count=True)
            yield Encoded(vectors, *(table[name].to_numpy() for name in ("x", "y", "time")))

    @cached_property
    def counts(self) -> DocumentCounts:
        """In how many of the stream's first messages each word stands."""
        counts = DocumentCounts()
        for start, size in self.spans(CHUNK, 0, min(SAMPLE, self.messages)):
            counts.add(self.documents(start, size))
        return counts

    def spans(self, chunk: int, first: int, count: int | None) -> Iterator[tuple[int, int]]:
        """(first, count) of each chunk."""
        if chunk < 1:
            raise InvalidInput("chunk", f"takes at least 1, not {chunk!r}")
        end = self.messages if count is None else first + count
        if not 0 <= first <= end <= self.messages:
            raise InvalidInput("first", f"there are messages 0 to {self.messages}, not {first} to {end}")
        for start in range(first, end, chunk):
            yield start, min(chunk, end - start)

    def synthetic_times(self, first: int, count: int) -> NDArray[np.int64]:
        """Arrival times at the workload's rate."""
        rate = DEFAULT_RATE if self._rate is None else self._rate
        return arrival_times(stream_key(self.seed, "time"), first, count, rate, self._bursts)


def stream_key(seed: int, purpose: Literal["message", "time", "source", "pick"]) -> np.uint64:
    """Independent random streams for each seed and purpose."""
    number = ("message", "time", "source", "pick").index(purpose)
    return np.uint64(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])
