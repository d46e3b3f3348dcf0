"""From forms to words: stop words, elisions, possessives, stems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nearcast.errors import InvalidInput
from nearcast.text.fold import BREAK, fold, forms
from nearcast.text.stopwords import is_available, stop_words

MAX_WORD = 128
"""Longer words are cut here: what has no end in sight is not a word, but must not fill the vocabulary either."""

_ELISIONS = {
    "fr": "l d j m t s n c qu jusqu lorsqu puisqu quoiqu",
    "it": "l d un c all dall dell nell sull coll quest quell",
    "ca": "l d m t s n",
}
_STEMMERS = """
    ar arabic ca catalan cs czech da danish de german el greek en english es spanish et estonian eu basque fi finnish
    fr french ga irish hi hindi hu hungarian hy armenian id indonesian it italian lt lithuanian nl dutch no norwegian
    pl polish pt portuguese ro romanian ru russian sv swedish ta tamil tr turkish
"""
_STEMMER_OF = dict(zip(_STEMMERS.split()[::2], _STEMMERS.split()[1::2], strict=True))


@dataclass(frozen=True)
class Tokenizer:
    """How a text becomes words.

    `languages` are the ISO 639-1 codes whose stop words are dropped (a word that means something in another of them
    stays, see `stopwords`); `stop_words` are more words to drop; `stemmer` is None or one Snowball stemmer, by ISO code
    or name. Of a form with apostrophes, French, Italian or Catalan elisions (`l'eau`), an English possessive (`joe's`)
    and then the apostrophes themselves go: eau, joe, obrien.
    """

    languages: tuple[str, ...] = ("en", "de", "es", "fr", "it", "nl", "pt")
    stemmer: str | None = None
    stop_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("languages", "stop_words"):
            value = getattr(self, name)
            if not isinstance(value, (tuple, list)) or not all(isinstance(item, str) for item in value):
                raise InvalidInput(name, f"a tuple of strings, not {value!r}")
            object.__setattr__(self, name, tuple(value))
        for language in self.languages:
            if not is_available(language):
                raise InvalidInput("languages", f"no stop words for {language!r}; give ISO 639-1 codes such as 'en'")
        if self.stemmer is not None:
            import snowballstemmer

            if _STEMMER_OF.get(self.stemmer, self.stemmer) not in snowballstemmer.algorithms():
                raise InvalidInput("stemmer", f"no Snowball stemmer {self.stemmer!r}; 'en' or 'english' would be one")

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self.languages, self.stemmer, self.stop_words)  # a loaded stemmer does not travel

    @cached_property
    def dropped(self) -> frozenset[str]:
        """All stop words, folded."""
        return stop_words(self.languages) | {fold(word) for word in self.stop_words}

    @cached_property
    def _elisions(self) -> frozenset[str]:
        return frozenset(word for language in self.languages for word in _ELISIONS.get(language, "").split())

    @cached_property
    def _stem(self) -> Callable[[str], str] | None:
        if self.stemmer is None:
            return None
        import snowballstemmer  # pure Python, or PyStemmer where that is installed

        stem: Callable[[str], str] = snowballstemmer.stemmer(_STEMMER_OF.get(self.stemmer, self.stemmer)).stemWord
        return stem

    def words(self, text: str) -> list[str]:
        """The words of a text in order, repetitions included."""
        found = (self.word(form) for form in forms([text])[:-1])
        return [word for word in found if word is not None]

    def word(self, form: str) -> str | None:
        """The word that a form stands for; None for a stop word."""
        if form in self.dropped:
            return None
        if "'" in form:
            form = self._without_apostrophes(form)
            if not form or form in self.dropped:
                return None
        return self._cut_and_stem(form)

    def keyword(self, keyword: str) -> str:
        """The word that a ready-made keyword stands for: never a stop word, and one word even if it reads like several.

        `Ramen`, `#ramen` and `ramen's` are the word ramen, as in a text; `food:ramen`, `hip hop` and an emoji, which no
        text yields, are folded and kept whole. Empty only if nothing visible was given.
        """
        found = forms([keyword.replace("#", " ")])[:-1]
        if len(found) == 1 and (form := self._without_apostrophes(found[0])):
            return self._cut_and_stem(form)
        return " ".join(fold(keyword.replace(BREAK, " ")).split())[:MAX_WORD]

    def _without_apostrophes(self, form: str) -> str:
        form = form.strip("'")
        if "'" in form and form not in self.dropped:
            head, _, tail = form.partition("'")
            if head in self._elisions:
                form = tail
            form = fold(form.removesuffix("'s").replace("'", ""))  # again: a mark may have found a letter
        return form

    def _cut_and_stem(self, form: str) -> str:
        form = form[:MAX_WORD]
        stem = self._stem
        return form if stem is None else stem(form) or form
