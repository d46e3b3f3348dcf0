"""What may come in: the rules for every field, for one operation at a time. `tables` applies the same rules to batches.

Everything is checked before anything is changed, so a refused operation leaves no trace, not even in the vocabulary.
"""

from __future__ import annotations

import time as clock
from collections.abc import Container, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearcast.envelopes import Column
from nearcast.errors import DuplicateSubscription, InvalidInput
from nearcast.model import MAX_K
from nearcast.space import Space
from nearcast.text import TermVectors, Vocabulary, Words, check_text

DEFAULT_K = 20
DEFAULT_ALPHA = 0.5
MAX_ID = 256
"""Characters of an id."""
MAX_TIME = 1 << 53
"""The farthest time from the epoch, either way, in milliseconds."""
NEVER = -MAX_TIME - 1
"""The time before any time is known."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)

NUMBER = int | float | np.integer | np.floating

ID_RULE = f"takes a string of 1 to {MAX_ID} characters"
K_RULE = f"takes a whole number from 1 to {MAX_K}"
ALPHA_RULE = "takes a number from 0 to 1"
NO_KEYWORD = "holds no usable keyword, so nothing could ever match"
TIME_RULE = "takes milliseconds since the epoch, at most 2**53 either way, or a datetime"


class SubscriptionBatch(NamedTuple):
    """New subscriptions, in the order in which they are registered."""

    slots: NDArray[np.int64]  # index of each: dense, reused once its holder is unsubscribed
    numbers: NDArray[np.int64]  # registration numbers: ascending, never reused
    points: NDArray[np.float64]  # [n, 3] embedded
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    k: NDArray[np.int32]
    alpha: NDArray[np.float32]


class MessageBatch(NamedTuple):
    """New messages, in the order of their arrival: `first_seq`, `first_seq` + 1, …"""

    first_seq: int
    points: NDArray[np.float64]  # [n, 3] embedded
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    times: NDArray[np.int64]  # never descending


class SubscriptionRows(NamedTuple):
    """Accepted subscriptions, not yet registered."""

    ids: Sequence[str]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    k: NDArray[np.int32]
    alpha: NDArray[np.float32]
    vectors: TermVectors


class MessageRows(NamedTuple):
    """Accepted messages, not yet numbered. `times` may still run backwards."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    times: NDArray[np.int64]
    ids: Column
    payloads: Column
    vectors: TermVectors


def now() -> int:
    """The wall clock in milliseconds since the epoch."""
    return clock.time_ns() // 1_000_000


def id_problem(id: object) -> str | None:
    """Why this cannot be an id."""
    if not isinstance(id, str) or not 0 < len(id) <= MAX_ID:
        return f"{ID_RULE}, not {brief(id)}"
    if not id.isascii() and any("\ud800" <= character <= "\udfff" for character in id):
        return "holds half of a surrogate pair, which is not a character"
    return None


def check_message_id(id: object) -> str | None:
    """A publisher's id: a string or None."""
    if id is not None and (problem := id_problem(id)):
        raise InvalidInput("id", problem)
    return id  # type: ignore[return-value]


def check_new_id(id: object, known: Container[str]) -> str:
    """The id of a new subscription."""
    if problem := id_problem(id):
        raise InvalidInput("id", problem)
    if id in known:
        raise DuplicateSubscription(str(id))
    return str(id)


def check_k(k: object) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= MAX_K:
        raise InvalidInput("k", f"{K_RULE}, not {brief(k)}")
    return int(k)


def check_alpha(alpha: object) -> float:
    if isinstance(alpha, bool) or not isinstance(alpha, NUMBER) or not 0 <= alpha <= 1:
        raise InvalidInput("alpha", f"{ALPHA_RULE}, not {brief(alpha)}")
    return float(alpha)


def check_time(time: object) -> int:
    """Milliseconds since the epoch; None is the wall clock, a datetime without a zone is UTC."""
    if time is None:
        return now()
    if isinstance(time, datetime):
        return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH) // MILLISECOND
    if isinstance(time, bool) or not isinstance(time, int | np.integer) or not -MAX_TIME <= time <= MAX_TIME:
        raise InvalidInput("time", f"{TIME_RULE}, not {brief(time)}")
    return int(time)


def check_place(space: Space, at: Any) -> tuple[float, float]:
    """A pair of numbers within the space."""
    try:
        x, y = at
    except (TypeError, ValueError):
        raise InvalidInput("at", f"takes a pair (x, y), not {brief(at)}") from None
    for field, value in (("x", x), ("y", y)):
        if type(value) is not float and (isinstance(value, bool) or not isinstance(value, NUMBER)):
            raise InvalidInput(field, f"takes a number, not {brief(value)}")
    try:
        place = float(x), float(y)
    except OverflowError:
        raise InvalidInput("at", "takes finite numbers") from None
    if space.check(*place):
        _, field, problem = space.problems(np.array(place[:1]), np.array(place[1:]))[0]
        raise InvalidInput(field, problem)
    return place


def encode_subscription(vocabulary: Vocabulary, text: Words) -> TermVectors:
    """The vector of a subscription's text, which must hold a usable keyword and not too many."""
    check_text(text)
    vectors = vocabulary.encode([text], count=False)
    if not len(vectors.terms):
        raise InvalidInput("text", NO_KEYWORD)
    return vectors


def encode_message(vocabulary: Vocabulary, text: Words) -> TermVectors:
    """The vector of a message's text. Its words are counted, so from here on nothing may be refused."""
    check_text(text)
    return vocabulary.encode([text], count=True)


def brief(value: object) -> str:
    """A value as an error shows it."""
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
