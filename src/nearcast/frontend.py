"""The public API, the same for every engine: check, encode, number, hand over columns, name what comes back.

The machinery behind it (`machinery`) gets only accepted input, as columns, and answers with columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from nearcast import checkpoint, intake, tables
from nearcast.changes import NO_CHANGES, ChangeColumns, as_changes, as_table
from nearcast.envelopes import Envelope, Envelopes
from nearcast.errors import DamagedSnapshot, RowError, UnknownMessage
from nearcast.explanation import Explanation, explain
from nearcast.intake import MessageBatch, MessageRows, SubscriptionBatch, SubscriptionRows
from nearcast.machinery import Machinery
from nearcast.machinery import Scores as Scores
from nearcast.model import Change, Ranked
from nearcast.registry import Registry
from nearcast.text import TermVectors, Words


class Subscription(NamedTuple):
    """What is registered: the words with their weights as they are matched, the place, k and alpha (as float32)."""

    id: str
    words: Mapping[str, float]
    x: float
    y: float
    k: int
    alpha: float


@dataclass(frozen=True)
class Stats:
    """The state in numbers, and the engine's own counters."""

    subscriptions: int
    window_size: int
    oldest_seq: int
    newest_seq: int
    time: int | None
    vocabulary: int
    counters: Mapping[str, float]


class Frontend(Machinery):
    """Base of `Engine` and `ReferenceEngine`."""

    # --- One operation ---

    def subscribe(
        self,
        id: str,
        text: Words,
        *,
        at: tuple[float, float],
        k: int = intake.DEFAULT_K,
        alpha: float = intake.DEFAULT_ALPHA,
    ) -> list[Change]:
        """Register a subscription; its first list comes back as changes."""
        intake.check_new_id(id, self._registry)
        x, y = intake.check_place(self.space, at)
        k, alpha = intake.check_k(k), intake.check_alpha(alpha)
        vectors = intake.encode_subscription(self.vocabulary, text)
        place = np.array([x]), np.array([y])
        rows = SubscriptionRows([id], *place, np.array([k], np.int32), np.array([alpha], np.float32), vectors)
        return as_changes(self._enrol(rows), self._registry.ids)

    def unsubscribe(self, id: str) -> list[Change]:
        """Remove a subscription; what stood in its list leaves."""
        changes = as_changes(self._remove(self._registry.slot(id)), self._registry.ids)
        self._registry.remove(id)
        return changes

    def publish(
        self,
        text: Words,
        *,
        at: tuple[float, float],
        time: int | datetime | None = None,
        id: str | None = None,
        payload: Any = None,
    ) -> list[Change]:
        """Take a message: it enters lists, pushes others out, and what is too old expires."""
        x, y = intake.check_place(self.space, at)
        stamp = max(self._now, intake.check_time(time))
        intake.check_message_id(id)
        vectors = intake.encode_message(self.vocabulary, text)
        xs, ys = np.array([x]), np.array([y])
        batch = MessageBatch(self._log.end, self.space.embed(xs, ys), xs, ys, np.array([stamp]))
        self._log.append(Envelope(id, payload, stamp, x, y))
        return as_changes(self._take(batch, vectors, stamp), self._registry.ids)

    def advance(self, time: int | datetime | None = None) -> list[Change]:
        """Let time pass without a message. A time before the newest changes nothing."""
        self._now = max(self._now, intake.check_time(time))
        changes = self._advance(self._now)
        self._log.drop_before(self._first_live(self.newest_seq, self._now))
        return as_changes(changes, self._registry.ids)

    # --- Batches ---

    def subscribe_many(self, table: Any, rejected: list[RowError] | None = None) -> pa.Table:
        """Register the rows of an Arrow table: id, text or keywords, x, y and, if wanted, k and alpha.

        Without `rejected` one bad row raises InvalidBatch and nothing is taken; with a list, bad rows are added to it.
        """
        rows = tables.subscriptions(table, self.space, self.vocabulary, self._registry, rejected)
        return as_table(self._enrol(rows), self._registry.ids)

    def publish_many(self, table: Any, rejected: list[RowError] | None = None) -> pa.Table:
        """Publish the rows of an Arrow table: text or keywords, x, y and, if wanted, time, id, payload.

        Same lists and changes as publishing them one by one. For `rejected` see `subscribe_many`.
        """
        rows = tables.messages(table, self.space, self.vocabulary, rejected)
        return as_table(self._publish_rows(rows), self._registry.ids)

    # --- Reading ---

    def top(self, id: str) -> list[Ranked]:
        """The list of a subscription, best first."""
        seqs, scores = self._list(self._registry.slot(id))
        return [
            Ranked(seq, envelope.id, score, envelope.time, envelope.x, envelope.y, envelope.payload)
            for seq, score in zip(seqs.tolist(), scores.tolist(), strict=True)
            for envelope in [self._log.get(seq)]
        ]

    def explain(self, id: str, seq: int) -> Explanation:
        """Why a live message is in a subscription's list, or why not."""
        slot = self._registry.slot(id)
        if isinstance(seq, bool) or not isinstance(seq, int | np.integer) or not self._log.start <= seq < self._log.end:
            raise UnknownMessage(seq)
        seq = int(seq)
        registered, envelope = self._registry.row(slot), self._log.get(seq)
        places = np.array([registered.x, envelope.x]), np.array([registered.y, envelope.y])
        points = self.space.embed(*places)
        listed = self._list(slot)[0].tolist()
        rank = listed.index(seq) + 1 if seq in listed else None
        return explain(
            (id, seq),
            self.space,
            registered.alpha,
            (points[0], points[1]),
            (self._vector(slot), self._message_vector(seq)),
            self.vocabulary.word,
            (rank, len(listed)),
            self._threshold(slot),
            self._reason(slot, seq) if rank is None else "",
        )

    def stats(self) -> Stats:
        """The state in numbers."""
        return Stats(
            subscriptions=self.subscriptions,
            window_size=self.window_size,
            oldest_seq=self._log.start,
            newest_seq=self.newest_seq,
            time=self.time,
            vocabulary=len(self.vocabulary),
            counters=self._counters(),
        )

    def __iter__(self) -> Iterator[str]:
        """The ids of all subscriptions, in order of registration."""
        return iter(self._registry)

    def __contains__(self, id: object) -> bool:
        return id in self._registry

    def subscription(self, id: str) -> Subscription:
        """What is registered under an id."""
        slot = self._registry.slot(id)
        row = self._registry.row(slot)
        terms, weights = self._vector(slot)
        words = {self.vocabulary.word(t): w for t, w in zip(terms.tolist(), weights.tolist(), strict=True)}
        return Subscription(id, words, row.x, row.y, row.k, row.alpha)

    # --- Keeping ---

    def snapshot(self, path: str | PathLike[str]) -> None:
        """Write the whole state into one file, which is there whole or not at all."""
        settings = {**checkpoint.save_setting(self.window, self.space), "now": self._now, "own": self._settings()}
        parts = {
            "vocabulary": checkpoint.save_vocabulary(self.vocabulary),
            "registry": self._registry.save(),
            "log": self._log.save(),
            "engine": self._save(),
        }
        checkpoint.write(path, self.kind, self.version, settings, parts)

    @classmethod
    def restore(cls, path: str | PathLike[str]) -> Self:
        """The engine that `snapshot` wrote; it continues exactly as that one would have."""
        settings, parts = checkpoint.read(path, cls.kind, cls.version)
        try:
            window, space = checkpoint.load_setting(settings)
            engine = cls._revive(window, space, checkpoint.load_vocabulary(parts["vocabulary"]), settings["own"])
            engine._registry = Registry.load(parts["registry"])
            engine._log = Envelopes.load(parts["log"])
            engine._now = int(settings["now"])
            engine._load(parts["engine"])
        except (LookupError, TypeError, ValueError, AttributeError, pa.ArrowException) as error:
            raise DamagedSnapshot(f"{path}: its parts do not fit together ({error!r})") from error
        return engine

    # --- Inside ---

    def _enrol(self, rows: SubscriptionRows) -> ChangeColumns:
        if not rows.ids:
            return NO_CHANGES
        points = self.space.embed(rows.x, rows.y)
        slots, numbers = self._registry.add(rows.ids, rows.x, rows.y, rows.alpha, rows.k)
        batch = SubscriptionBatch(slots, numbers, points, rows.x, rows.y, rows.k, rows.alpha)
        return self._register(batch, rows.vectors)

    def _publish_rows(self, rows: MessageRows) -> ChangeColumns:
        if not len(rows.times):
            return NO_CHANGES
        times = np.maximum.accumulate(np.maximum(rows.times, self._now))
        batch = MessageBatch(self._log.end, self.space.embed(rows.x, rows.y), rows.x, rows.y, times)
        self._log.extend(rows.ids, rows.payloads, times, rows.x, rows.y)
        return self._take(batch, rows.vectors, int(times[-1]))

    def _take(self, batch: MessageBatch, vectors: TermVectors, stamp: int) -> ChangeColumns:
        self._now = stamp
        changes = self._accept(batch, vectors)
        self._log.drop_before(self._first_live(self.newest_seq, stamp))
        return changes
