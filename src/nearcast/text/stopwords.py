"""Which words carry no meaning: loaded only for the languages asked for, and only when first needed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from nearcast.text.fold import fold
from nearcast.text.stoplists import FUNCTION_WORDS, HOMOGRAPHS


@cache
def available() -> frozenset[str]:
    """The ISO 639-1 codes that have a list."""
    from stopwordsiso import langs  # a fifth of a megabyte of JSON, read only when such a language is in question

    return frozenset(FUNCTION_WORDS) | frozenset(langs())


def is_available(language: str) -> bool:
    """Whether a list exists for this ISO 639-1 code."""
    return language in FUNCTION_WORDS or language in available()


@cache
def of_language(language: str) -> frozenset[str]:
    """One language's list, folded as texts are: ours where we have one, else that of stopwordsiso (MIT licence)."""
    if language in FUNCTION_WORDS:
        return frozenset(fold(word) for word in FUNCTION_WORDS[language].split())
    from stopwordsiso import stopwords

    return frozenset(fold(word) for word in stopwords(language))


def stop_words(languages: Iterable[str]) -> frozenset[str]:
    """All lists together, without the words that mean something in another of these languages.

    English alone drops no `car`; French alone does (`car` = because); both together keep it, for the English car.
    """
    languages = tuple(languages)
    dropped: set[str] = set()
    for language in languages:
        kept = {word for other in languages if other != language for word in HOMOGRAPHS.get(other, "").split()}
        dropped |= of_language(language) - kept
    return frozenset(dropped)
