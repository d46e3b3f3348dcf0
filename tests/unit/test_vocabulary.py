"""Words to ids, counts and vectors, against the formula written out."""

import math
import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearcast.errors import DamagedSnapshot, InvalidBatch, InvalidInput
from nearcast.kernels import weights as kernels
from nearcast.text import TermVectors, Tokenizer, Vocabulary, corpus, vocabulary
from nearcast.text.vocabulary import Words

pytestmark = pytest.mark.lanes

UNIT = 2.0**-24
WORD = st.sampled_from(
    ["ramen", "Ramen", "#ramen", "udon", "the", "soba", "東京都", "café", "x1", "🍜", "don't", "a b"]
)
TEXT = st.lists(WORD, max_size=12).map(" ".join)
WEIGHTS = st.dictionaries(WORD, st.floats(5e-324, 1.7e308) | st.floats(0.1, 10), max_size=6)
BATCH = st.lists(st.one_of(TEXT, TEXT, WEIGHTS, st.lists(WORD, max_size=8)), max_size=12)


def expected(model: Vocabulary, text: Words) -> dict[int, float]:
    """The vector of one text as the brief's formula gives it, from a vocabulary in the state before it."""
    if isinstance(text, Mapping):
        top = max(text.values(), default=1.0)
        raw: dict[str, float] = {}
        for keyword, weight in text.items():
            word = model.tokenizer.keyword(keyword)
            raw[word] = raw.get(word, 0.0) + max(weight / top, 2.0**-60)
    else:
        words = model.tokenizer.words(text) if isinstance(text, str) else [model.tokenizer.keyword(w) for w in text]
        raw = {}
        for word, times in Counter(words).items():
            term = model.term(word)
            seen = 0 if term is None else model.frequency(term)
            raw[word] = (1 + math.log(times)) * math.log(1 + (1 + model.documents) / (1 + seen))
    norm = math.sqrt(math.fsum(weight * weight for weight in raw.values()))
    return {word: weight / norm for word, weight in raw.items()}


def rows(vectors: TermVectors) -> list[tuple[list[int], list[float]]]:
    ends = vectors.offsets.tolist()
    return [(vectors.terms[a:b].tolist(), vectors.weights[a:b].tolist()) for a, b in pairwise(ends)]


def state(model: Vocabulary) -> tuple[list[str], list[int], int]:
    table = model.to_arrow()
    return table["word"].to_pylist(), table["frequency"].to_pylist(), model.documents


def check_shape(vectors: TermVectors, texts: Sequence[Words]) -> None:
    assert vectors.offsets.dtype == np.int64 and len(vectors.offsets) == len(texts) + 1
    assert vectors.terms.dtype == np.uint32 and vectors.weights.dtype == np.float32
    assert vectors.offsets[0] == 0 and vectors.offsets[-1] == len(vectors.terms) == len(vectors.weights)
    for terms, weights in rows(vectors):
        assert terms == sorted(set(terms), reverse=True)
        assert all(0 < weight <= 1 and weight / UNIT == int(weight / UNIT) for weight in weights)
        if terms:
            assert math.fsum(weight * weight for weight in weights) == pytest.approx(1, abs=2 * UNIT * len(weights))


@given(BATCH, BATCH, st.booleans())
def test_batches_give_what_the_formula_says_one_by_one(first: list[Words], second: list[Words], frozen: bool) -> None:
    def new() -> Vocabulary:
        return Vocabulary.fit(["ramen udon", "ramen", "café the"]) if frozen else Vocabulary()

    batched, single = new(), new()
    for texts, count in ((first, True), (second, False), (second, True)):
        vectors = batched.encode(texts, count=count)
        check_shape(vectors, texts)
        alone = []
        for text in texts:
            wanted = expected(single, text)
            alone += rows(single.encode([text], count=count))
            got = {single.word(term): weight for term, weight in zip(*alone[-1], strict=True)}
            assert got.keys() == wanted.keys()
            for word, weight in wanted.items():
                assert got[word] == pytest.approx(max(weight, UNIT), abs=0.51 * UNIT)
        assert rows(vectors) == alone
        assert state(batched) == state(single)


def test_a_learned_vocabulary_counts_messages_after_weighting_them() -> None:
    model = Vocabulary()
    first, second = rows(model.encode(["ramen ramen", "ramen udon"], count=True))
    assert first == ([0], [1.0])
    common, rare = math.log(1 + 2 / 2), math.log(1 + 2 / 1)  # one document, one with ramen, none with udon
    assert second[0] == [1, 0]
    assert second[1] == pytest.approx([rare / math.hypot(common, rare), common / math.hypot(common, rare)], abs=UNIT)
    assert (model.documents, model.frequency(0), model.frequency(1)) == (2, 2, 1)


def test_subscriptions_are_never_counted() -> None:
    model = Vocabulary()
    model.encode(["ramen udon"], count=True)
    model.encode(["ramen soba", {"pho": 1.0}, ["udon"]], count=False)
    assert state(model) == (["ramen", "udon", "soba", "pho"], [1, 1, 0, 0], 1)


def test_a_message_without_words_counts_as_a_document() -> None:
    model = Vocabulary()
    assert rows(model.encode(["", "the", "🍜", [], {}], count=True)) == [([], [])] * 5
    assert model.documents == 5
    assert rows(model.encode([], count=True)) == []


def test_fit_orders_by_frequency_then_word_and_is_frozen() -> None:
    model = Vocabulary.fit(["b a", "b c b b", "d", "the"])
    assert state(model) == (["b", "c", "d"], [2, 1, 1], 4)  # a is a stop word
    before = state(model)
    model.encode(["b c", "b"], count=True)
    assert model.frozen and state(model) == before
    assert rows(model.encode(["unseen d"], count=True))[0][0] == [3, 2]
    assert model.frequency(3) == 0 and model.documents == 4


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_fit_takes_arrow_and_any_iterable(kind: pa.DataType) -> None:
    texts = [f"word{i % 7} word{i % 11} common" for i in range(2500)]
    wanted = state(Vocabulary.fit(texts))
    assert state(Vocabulary.fit(iter(texts))) == wanted
    assert state(Vocabulary.fit(pa.array(texts, kind))) == wanted
    assert state(Vocabulary.fit(pa.chunked_array([texts[:9], [], texts[9:]], kind))) == wanted


@pytest.mark.parametrize("texts", ["one text", ["a", None], [1], pa.array(["a", None]), pa.array([1])])
def test_fit_refuses_what_is_no_text(texts: object) -> None:
    with pytest.raises(InvalidInput, match="texts"):
        Vocabulary.fit(texts)  # type: ignore[arg-type]


def test_fit_has_no_limit_on_a_document() -> None:
    model = Vocabulary.fit([" ".join(f"w{i}" for i in range(6000))])
    assert len(model) == 6000 and set(state(model)[1]) == {1}


def test_given_weights_are_folded_summed_and_scaled() -> None:
    model = Vocabulary()
    terms, weights = rows(model.encode([{"Ramen": 1, "the": 4, "#ramen": 2, "tiny": 1e-300}], count=True))[0]
    assert [model.word(term) for term in terms] == ["tiny", "the", "ramen"]
    assert weights == pytest.approx([UNIT, 0.8, 0.6], abs=UNIT)
    assert rows(model.encode([{"x": 1.7e308, "y": 1.7e308}, {"x": 5e-324}], count=False))[0][1] == pytest.approx(
        [math.sqrt(0.5)] * 2, abs=UNIT
    )


def test_keywords_are_kept_whole_and_meet_the_words_of_texts() -> None:
    model = Vocabulary(Tokenizer(stemmer="en"))
    keywords, text = rows(model.encode([["Running", "the", "hip hop"], "he runs hip hop"], count=False))
    assert [model.word(term) for term in keywords[0]] == ["hip hop", "the", "run"]
    assert [model.word(term) for term in text[0]] == ["hop", "hip", "run"]


def test_term_finds_a_word_however_it_is_spelled() -> None:
    model = Vocabulary(Tokenizer(stemmer="en"))
    model.encode(["outages"], count=True)
    assert model.word(0) == "outag"
    assert model.term("outag") == model.term("Outages") == model.term("#OUTAGE") == 0
    assert model.term("ramen") is None
    for wrong in (-1, 1):
        with pytest.raises(InvalidInput, match="term"):
            model.word(wrong)


@pytest.mark.parametrize(("count", "limit"), [(True, 4096), (False, 64)])
def test_too_many_words_change_nothing(count: bool, limit: int) -> None:
    fine = " ".join(f"w{i}" for i in range(limit))
    model = Vocabulary()
    model.encode(["ramen w1"], count=True)
    before = state(model)
    for bad in (fine + " new", [f"k{i}" for i in range(limit + 1)], {f"k{i}": 1.0 for i in range(limit + 1)}):
        with pytest.raises(InvalidInput, match=rf"^text: {limit + 1} distinct words .* {limit} ") as alone:
            model.encode([bad], count=count)
        assert not isinstance(alone.value, InvalidBatch)
        with pytest.raises(InvalidBatch) as caught:
            model.encode(["udon ramen", bad, "soba", bad], count=count)
        assert [row.row for row in caught.value.rows] == [1, 3]
        assert state(model) == before
    terms, _ = rows(model.encode([fine + " w0 w0 the"], count=count))[0]
    assert len(terms) == limit and len(model) == limit + 1


def test_what_is_no_text_changes_nothing() -> None:
    model = Vocabulary()
    for bad in (None, 7, [3], {"x": "heavy"}):
        with pytest.raises((TypeError, ValueError, AttributeError)):
            model.encode(["udon", bad], count=True)  # type: ignore[list-item]
        assert state(model) == ([], [], 0)
    assert rows(model.encode(["udon"], count=True)) == [([0], [1.0])]


def test_a_full_vocabulary_says_so_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "MAX_WORDS", 3)
    model = Vocabulary()
    model.encode(["ramen udon"], count=True)
    with pytest.raises(InvalidInput, match="full"):
        model.encode(["soba", "pho"], count=True)
    assert state(model) == (["ramen", "udon"], [1, 1], 1)
    assert rows(model.encode(["soba ramen"], count=True))[0][0] == [2, 0]


def test_forgetting_forms_changes_nothing(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    texts = [" ".join(f"Word{i}" for i in rng.integers(0, 60, 9)) for _ in range(200)] + ["y" * 300, "y" * 300]
    usual = Vocabulary()
    wanted = rows(usual.encode(texts, count=True))
    monkeypatch.setattr(vocabulary, "_MEMO", 8)
    forgetful = Vocabulary()
    assert rows(forgetful.encode(texts, count=True)) == wanted
    assert len(forgetful._forms) <= 9 and state(forgetful) == state(usual)


def test_long_batches_are_cut_into_chunks(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 99, rng.integers(0, 90))) for _ in range(100)]
    wanted = rows(Vocabulary().encode(texts, count=True))
    monkeypatch.setattr(corpus, "CHUNK", 7)
    monkeypatch.setattr(corpus, "CHUNK_CHARACTERS", 1000)
    assert rows(Vocabulary().encode(texts, count=True)) == wanted


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="there is nothing compiled to compare with")
def test_compiled_or_not_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    texts: list[Words] = [" ".join(f"w{i}" for i in rng.zipf(1.3, n) % 99) for n in rng.integers(0, 120, 200)]
    texts[50:60] = [{f"w{i}": float(w) for i, w in enumerate(rng.exponential(size=n))} for n in range(10)]
    compiled, plain = Vocabulary(), Vocabulary()
    wanted = compiled.encode(texts, count=True)
    for name in ("vectors", "distinct", "weigh", "sort_descending"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    assert [a.tobytes() for a in plain.encode(texts, count=True)] == [a.tobytes() for a in wanted]
    assert state(plain) == state(compiled)


def test_a_snapshot_continues_exactly(rng: np.random.Generator) -> None:
    texts = [" ".join(f"w{i}" for i in rng.zipf(1.3, 9) % 500) for _ in range(300)]
    for model in (Vocabulary(Tokenizer(languages=("fr",), stemmer="en")), Vocabulary.fit(texts[:100]), Vocabulary()):
        model.encode(texts[:150], count=True)
        model.encode([{"🍜": 1.0}], count=False)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, model.to_arrow().schema) as writer:
            writer.write_table(model.to_arrow())
        read = pa.ipc.open_stream(sink.getvalue()).read_all()
        for copy in (Vocabulary.from_arrow(read), pickle.loads(pickle.dumps(model))):  # noqa: S301
            assert (copy.tokenizer, copy.frozen) == (model.tokenizer, model.frozen)
            assert copy.to_arrow().equals(model.to_arrow(), check_metadata=True)
            original = Vocabulary.from_arrow(model.to_arrow())
            assert rows(copy.encode(texts[100:], count=True)) == rows(original.encode(texts[100:], count=True))
            assert state(copy) == state(original)


def test_an_empty_vocabulary_round_trips() -> None:
    for model in (Vocabulary(), Vocabulary.fit([])):
        copy = Vocabulary.from_arrow(model.to_arrow())
        assert state(copy) == ([], [], 0) and copy.frozen == model.frozen


def damaged_tables() -> dict[str, pa.Table]:
    good = Vocabulary.fit(["ramen udon", "ramen"]).to_arrow()
    about = good.schema.metadata[b"nearcast.vocabulary"]

    def metadata(text: bytes) -> pa.Table:
        return good.replace_schema_metadata({b"nearcast.vocabulary": text})

    def column(name: str, values: list[object]) -> pa.Table:
        index = good.schema.get_field_index(name)
        return good.set_column(index, good.schema.field(index), pa.array(values, good.schema.field(index).type))

    return {
        "columns": good.rename_columns(["word", "count"]),
        "no metadata": good.replace_schema_metadata(None),
        "no JSON": metadata(b"{"),
        "no object": metadata(b"3"),
        "version": metadata(about.replace(b'"version": 1', b'"version": 2')),
        "tokenizer": metadata(about.replace(b"languages", b"lang")),
        "language": metadata(about.replace(b'"en"', b'"xx"')),
        "documents": metadata(about.replace(b'"documents": 2', b'"documents": "2"')),
        "frozen": metadata(about.replace(b"true", b"1")),
        "twice": column("word", ["ramen", "ramen"]),
        "null word": column("word", ["ramen", None]),
        "null": column("frequency", [2, None]),
        "negative": column("frequency", [2, -1]),
        "above": column("frequency", [3, 1]),
    }


@pytest.mark.parametrize("case", damaged_tables())
def test_a_damaged_table_is_refused(case: str) -> None:
    with pytest.raises(DamagedSnapshot, match="vocabulary"):
        Vocabulary.from_arrow(damaged_tables()[case])
