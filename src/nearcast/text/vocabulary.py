"""Words to numbers: ids, document frequencies, and through the kernel of kernels/weights.py, weighted vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearcast.errors import InvalidBatch, InvalidInput, RowError
from nearcast.kernels import weights as kernels
from nearcast.text.checks import MAX_MESSAGE_WORDS, MAX_SUBSCRIPTION_WORDS, MAX_WORDS
from nearcast.text.corpus import chunks, corpus
from nearcast.text.fold import BREAK, forms
from nearcast.text.tokens import Tokenizer

Words = str | Mapping[str, float] | Sequence[str]
"""A text; or keywords with raw weights; or keywords, weighted like the words of a text."""

_MEMO = 1 << 18  # forms remembered; about 40 MB at most
_LONG = 256  # longer forms are not remembered
_NOTHING_GIVEN = np.empty(0, np.float64)


class TermVectors(NamedTuple):
    """The weighted words of some texts, one after the other."""

    offsets: NDArray[np.int64]  # n + 1: text i holds [offsets[i], offsets[i + 1])
    terms: NDArray[np.uint32]  # ids, descending within a text, distinct
    weights: NDArray[np.float32]  # unit length per text before rounding to multiples of 2**-24; above 0


class _Memo(dict[str, int]):
    """Form -> term: what a form stands for is worked out once, then found at the speed of a dict; bounded."""

    def __init__(self, resolve: Callable[[str], int]) -> None:
        super().__init__()
        self._resolve = resolve
        self.reset()

    def reset(self) -> None:
        self.clear()
        self[BREAK] = kernels.BREAK

    def __missing__(self, form: str) -> int:
        term = self._resolve(form)
        if len(form) <= _LONG:
            if len(self) >= _MEMO:
                self.reset()
            self[form] = term
        return term


class Vocabulary:
    """Words, each with its id and the number of messages that held it.

    `Vocabulary()` learns from the stream: a message is weighted with the counts before it, then counted. One from `fit`
    is frozen: counts never change. In both an unseen word gets the next id when it is first met.
    """

    def __init__(self, tokenizer: Tokenizer | None = None) -> None:
        self.tokenizer = Tokenizer() if tokenizer is None else tokenizer
        self.frozen = False
        self.documents = 0
        self._words: list[str] = []
        self._ids: dict[str, int] = {}
        self._frequencies: NDArray[np.int64] = np.zeros(1024, np.int64)
        self._forms = _Memo(self._term_of_form)
        self._keywords = _Memo(self._term_of_keyword)

    @classmethod
    def fit(cls, texts: Iterable[str], tokenizer: Tokenizer | None = None) -> Vocabulary:
        """A frozen vocabulary of these texts, or of an Arrow array of strings. The most frequent word gets id 0."""
        learner = cls(tokenizer)
        for chunk in chunks(corpus(texts)):
            ids = learner._cut(chunk)
            learner._make_room()
            kernels.count(ids, len(chunk), learner._frequencies)
            learner.documents += len(chunk)
        by_frequency = [("frequency", "descending"), ("word", "ascending")]
        table = pa.table({"word": learner._words, "frequency": learner._frequencies[: len(learner)]})
        return cls._of(learner.tokenizer, table.sort_by(by_frequency), learner.documents, frozen=True)

    @classmethod
    def _of(cls, tokenizer: Tokenizer, table: pa.Table, documents: int, *, frozen: bool) -> Vocabulary:
        vocabulary = cls(tokenizer)
        vocabulary.frozen = frozen
        vocabulary.documents = documents
        vocabulary._words = table["word"].to_pylist()
        vocabulary._ids = {word: term for term, word in enumerate(vocabulary._words)}
        vocabulary._make_room()
        vocabulary._frequencies[: len(vocabulary)] = table["frequency"].to_numpy()
        return vocabulary

    def __len__(self) -> int:
        return len(self._words)

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary.from_arrow, (self.to_arrow(),)

    def to_arrow(self) -> pa.Table:
        """Words and frequencies by id, the rest as metadata: `from_arrow` gives the same vocabulary back."""
        from nearcast.text.tables import to_arrow

        frequencies = self._frequencies[: len(self)]
        return to_arrow(self._words, frequencies, self.documents, self.frozen, self.tokenizer)

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Vocabulary:
        """The vocabulary that `to_arrow` wrote; DamagedSnapshot if the table is none."""
        from nearcast.text.tables import from_arrow

        tokenizer, documents, frozen = from_arrow(table)
        return cls._of(tokenizer, table, documents, frozen=frozen)

    def term(self, word: str) -> int | None:
        """The id of a word, spelled as the vocabulary has it or in any way that leads there."""
        term = self._ids.get(word)
        return self._ids.get(self.tokenizer.keyword(word)) if term is None else term

    def word(self, term: int) -> str:
        """The word of an id."""
        if not 0 <= term < len(self._words):
            raise InvalidInput("term", f"a number from 0 to {len(self._words) - 1}, not {term!r}")
        return self._words[term]

    def frequency(self, term: int) -> int:
        """How many of `documents` held this word."""
        self.word(term)
        return int(self._frequencies[term])

    def encode(self, texts: Sequence[Words], *, count: bool) -> TermVectors:
        """The vectors of messages (`count`), each counted after it is weighted, or of subscriptions, which never count.

        One call or many give the same vectors. If a text has too many distinct words nothing is learned from any:
        InvalidInput for a single text, else InvalidBatch with all such rows. The texts must have passed `check_text`.
        """
        known = len(self._words)
        learn = count and not self.frozen
        limit = MAX_MESSAGE_WORDS if count else MAX_SUBSCRIPTION_WORDS
        try:
            ids, given = self._ids_of(texts)
            self._make_room()
            offsets, terms, weights, fits = kernels.vectors(
                ids, given, len(texts), self.documents, self._frequencies, learn, limit
            )
            if not fits:
                raise _too_many(offsets, limit)
        except BaseException:
            self._forget(known)
            raise
        if learn:
            self.documents += len(texts)
        return TermVectors(offsets, terms, weights)

    def _ids_of(self, texts: Sequence[Words]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The terms of all texts, each ended by BREAK, and the weights that were given with them, if any."""
        if all(isinstance(text, str) for text in texts):
            parts = [self._cut(chunk) for chunk in chunks(iter(texts))]  # type: ignore[arg-type]
            return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int32), *parts]), _NOTHING_GIVEN
        terms: list[int] = []
        given: list[float] = []
        for text in texts:
            if isinstance(text, Mapping):
                weighted = self._weighted(text)
                terms.extend(term for term, _ in weighted)
                given.extend(weight for _, weight in weighted)
            elif isinstance(text, str):
                terms.extend(self._cut([text])[:-1].tolist())
            else:
                terms.extend(map(self._keywords.__getitem__, text))
            terms.append(kernels.BREAK)
            given.extend([0.0] * (len(terms) - len(given)))
        return np.array(terms, np.int32), np.array(given, np.float64)

    def _cut(self, texts: Sequence[str]) -> NDArray[np.int32]:
        found = forms(texts)
        return np.fromiter(map(self._forms.__getitem__, found), np.int32, len(found))

    def _weighted(self, keywords: Mapping[str, float]) -> list[tuple[int, float]]:
        """Distinct terms in descending order; weights relative to the largest, so that no sum or square overflows."""
        largest = max(map(float, keywords.values()), default=1.0)
        sums: dict[int, float] = {}
        for keyword, weight in keywords.items():
            term = self._keywords[keyword]
            # What is lost below 2**-60 of the largest would be rounded up to 2**-24 anyway.
            sums[term] = sums.get(term, 0.0) + max(float(weight) / largest, 2.0**-60)
        return sorted(((term, weight) for term, weight in sums.items() if term >= 0), reverse=True)

    def _term_of_form(self, form: str) -> int:
        word = self.tokenizer.word(form)
        return kernels.DROPPED if word is None else self._intern(word)

    def _term_of_keyword(self, keyword: str) -> int:
        word = self.tokenizer.keyword(keyword)
        return self._intern(word) if word else kernels.DROPPED

    def _intern(self, word: str) -> int:
        term = self._ids.get(word)
        if term is None:
            term = len(self._words)
            if term >= MAX_WORDS:
                raise InvalidInput("text", f"the vocabulary is full: it holds {MAX_WORDS} distinct words")
            self._ids[word] = term
            self._words.append(word)
        return term

    def _forget(self, known: int) -> None:
        """Take back the words met since there were `known` of them."""
        for word in self._words[known:]:
            del self._ids[word]
        del self._words[known:]
        self._forms.reset()
        self._keywords.reset()

    def _make_room(self) -> None:
        if len(self._words) > len(self._frequencies):
            grown = np.zeros(max(len(self._words), 2 * len(self._frequencies)), np.int64)
            grown[: len(self._frequencies)] = self._frequencies
            self._frequencies = grown


def _too_many(offsets: NDArray[np.int64], limit: int) -> InvalidInput:
    counts = np.diff(offsets)
    rows = [
        RowError(int(row), "text", f"{counts[row]} distinct words are more than the {limit} that are taken")
        for row in np.flatnonzero(counts > limit)
    ]
    return InvalidInput("text", rows[0].problem) if len(counts) == 1 else InvalidBatch(rows)
