"""Nearcast: the k best messages of a geo-tagged stream for each of millions of standing subscriptions.

Every public name is here. What needs the engine is imported when it is first asked for: `import nearcast` itself takes
milliseconds, and the command line answers `--help` without loading a compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nearcast.errors import (
    DamagedSnapshot,
    DuplicateSubscription,
    InvalidBatch,
    InvalidInput,
    NearcastError,
    RowError,
    UnknownMessage,
    UnknownSubscription,
)
from nearcast.model import Cause, Change, Kind, Last, Ranked, Window, Within, last, within

if TYPE_CHECKING:
    from nearcast.changes import replay
    from nearcast.engine import Engine
    from nearcast.explanation import Explanation, MatchedWord
    from nearcast.frontend import Stats, Subscription
    from nearcast.reference import ReferenceEngine
    from nearcast.space import Earth, Plane, Space, earth, plane
    from nearcast.text import Tokenizer, Vocabulary, Words
    from nearcast.tuning import Pruning, Tuning

__version__ = "0.1.0"

_HOME = {
    "Earth": "space",
    "Engine": "engine",
    "Explanation": "explanation",
    "MatchedWord": "explanation",
    "Plane": "space",
    "Pruning": "tuning",
    "ReferenceEngine": "reference",
    "Space": "space",
    "Stats": "frontend",
    "Subscription": "frontend",
    "Tokenizer": "text",
    "Tuning": "tuning",
    "Vocabulary": "text",
    "Words": "text",
    "earth": "space",
    "plane": "space",
    "replay": "changes",
}

__all__ = [
    "Cause",
    "Change",
    "DamagedSnapshot",
    "DuplicateSubscription",
    "Earth",
    "Engine",
    "Explanation",
    "InvalidBatch",
    "InvalidInput",
    "Kind",
    "Last",
    "MatchedWord",
    "NearcastError",
    "Plane",
    "Pruning",
    "Ranked",
    "ReferenceEngine",
    "RowError",
    "Space",
    "Stats",
    "Subscription",
    "Tokenizer",
    "Tuning",
    "UnknownMessage",
    "UnknownSubscription",
    "Vocabulary",
    "Window",
    "Within",
    "Words",
    "earth",
    "last",
    "plane",
    "replay",
    "within",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value  # the next time without this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
