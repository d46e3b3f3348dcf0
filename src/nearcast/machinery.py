"""What an engine has to be: the state that the public API keeps for it, and the calls that it must answer.

A subclass gets only accepted input, numbered, embedded and encoded, as columns, and answers with columns. By the time
it is called nothing may be refused any more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nearcast import intake
from nearcast.changes import ChangeColumns
from nearcast.envelopes import Envelopes
from nearcast.errors import InvalidInput
from nearcast.explanation import Vector
from nearcast.intake import MessageBatch, SubscriptionBatch
from nearcast.model import Last, Window, Within
from nearcast.registry import Registry
from nearcast.snapshot import Contents
from nearcast.space import Space
from nearcast.text import TermVectors, Vocabulary

Scores = tuple[NDArray[np.int64], NDArray[np.float32]]
"""A list, best first: messages and their scores."""


class Machinery(ABC):
    """Window, space, vocabulary; who is registered (`_registry`); what messages brought along (`_log`); the time."""

    kind: ClassVar[str]
    """Names the engine in its snapshots."""
    version: ClassVar[int] = 1
    """Of the snapshots; raised when what they hold changes."""

    def __init__(self, window: Window, space: Space, vocabulary: Vocabulary | None = None) -> None:
        for field, value, kinds in (("window", window, Last | Within), ("space", space, Space)):
            if not isinstance(value, kinds):
                raise InvalidInput(field, f"takes a {field}, not {intake.brief(value)}")
        if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
            raise InvalidInput("vocabulary", f"takes a Vocabulary or None, not {intake.brief(vocabulary)}")
        self.window = window
        self.space = space
        self.vocabulary = Vocabulary() if vocabulary is None else vocabulary
        self._registry = Registry()
        self._log = Envelopes()
        self._now = intake.NEVER

    @property
    def subscriptions(self) -> int:
        """How many are registered."""
        return len(self._registry)

    @property
    def window_size(self) -> int:
        """How many messages are live."""
        return len(self._log)

    @property
    def newest_seq(self) -> int:
        """The newest accepted message, -1 before the first."""
        return self._log.end - 1

    @property
    def time(self) -> int | None:
        """The newest time seen, None before the first."""
        return None if self._now == intake.NEVER else self._now

    def _first_live(self, newest: int, now: int) -> int:
        """The oldest live message once `newest` has arrived and it is `now`."""
        if isinstance(self.window, Last):
            return max(0, newest + 1 - self.window.count)
        return self._log.newer_than(now - self.window.duration_ms)

    # --- What a subclass does ---

    @abstractmethod
    def _register(self, batch: SubscriptionBatch, vectors: TermVectors) -> ChangeColumns:
        """Take subscriptions and give each its first list (cause `registered`)."""

    @abstractmethod
    def _remove(self, slot: int) -> ChangeColumns:
        """Forget a subscription; all of its list leaves (cause `unsubscribed`)."""

    @abstractmethod
    def _accept(self, batch: MessageBatch, vectors: TermVectors) -> ChangeColumns:
        """Take messages one after the other. They stand in the log already: `newest_seq` is the last of them."""

    @abstractmethod
    def _advance(self, now: int) -> ChangeColumns:
        """Let time pass; `now` never runs backwards."""

    @abstractmethod
    def _list(self, slot: int) -> Scores:
        """A list, best first."""

    @abstractmethod
    def _vector(self, slot: int) -> Vector:
        """The terms and weights of a subscription."""

    @abstractmethod
    def _message_vector(self, seq: int) -> Vector:
        """The terms and weights of a live message."""

    @abstractmethod
    def _threshold(self, slot: int) -> float:
        """What a message must score for this subscription to be looked at; 0 = it only has to match."""

    @abstractmethod
    def _save(self) -> Contents:
        """The state beside what stands here (settings, vocabulary, registry, log)."""

    @abstractmethod
    def _load(self, saved: Contents) -> None:
        """Take up, in an engine just made, the state that `_save` gave. All else stands already."""

    def _settings(self) -> dict[str, Any]:
        """The engine's own settings, of JSON's types; see `_revive`."""
        return {}

    @classmethod
    def _revive(cls, window: Window, space: Space, vocabulary: Vocabulary, settings: Mapping[str, Any]) -> Self:
        """An empty engine with the settings that `_settings` gave."""
        return cls(window, space, vocabulary, **settings)

    def _reason(self, slot: int, seq: int) -> str:
        """More about why a live message is not in the list, for `explain`."""
        return ""

    def _counters(self) -> Mapping[str, float]:
        """The engine's own numbers for `stats`."""
        return {}
