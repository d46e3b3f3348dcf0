"""What a text or a set of keywords must be; asked before anything is encoded, so that a refusal changes nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from nearcast.errors import InvalidInput
from nearcast.text.fold import fold

MAX_TEXT = 1_000_000
"""The longest text, in characters; of keywords, all together."""

MAX_MESSAGE_WORDS = 4096
MAX_SUBSCRIPTION_WORDS = 64
MAX_WORDS = 1 << 27
"""The most distinct words of one vocabulary."""


def check_text(value: object, field: str = "text") -> None:
    """Raise InvalidInput unless `value` is a text, a list of keywords or a mapping of keywords to weights."""
    problem = text_problem(value)
    if problem is not None:
        raise InvalidInput(field, problem)


def text_problem(value: object) -> str | None:
    """What is wrong with a text or keywords; None if nothing is."""
    if isinstance(value, str):
        return _string_problem(value)
    if isinstance(value, Mapping):
        return _keywords_problem(list(value)) or _weights_problem(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return _keywords_problem(value)
    return f"a text, a list of keywords or a mapping of keywords to weights, not {type(value).__name__}"


def _string_problem(value: str) -> str | None:
    if len(value) > MAX_TEXT:
        return f"{len(value)} characters are more than the {MAX_TEXT} that are taken"
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            return f"a lone surrogate at character {error.start} cannot be stored"
    return None


def _keywords_problem(keywords: Sequence[Any]) -> str | None:
    total = 0
    for keyword in keywords:
        if not isinstance(keyword, str):
            return f"a keyword is a string, not {keyword!r:.80}"
        problem = _string_problem(keyword)
        if problem is not None:
            return f"keyword {keyword!r:.80}: {problem}"
        if not fold(keyword).strip():
            return f"the keyword {keyword!r:.80} has no visible character"
        total += len(keyword)
    if total > MAX_TEXT:
        return f"{total} characters of keywords are more than the {MAX_TEXT} that are taken"
    return None


def _weights_problem(weights: Mapping[str, Any]) -> str | None:
    for keyword, weight in weights.items():
        try:
            good = isinstance(weight, Real) and not isinstance(weight, bool)
            good = good and math.isfinite(float(weight)) and float(weight) > 0
        except OverflowError:
            good = False
        if not good:
            return f"the weight of {keyword!r:.80} must be a finite number above 0, not {weight!r:.80}"
    return None
