"""The generated workloads match the paper's Table 1; files and subscriptions follow the recipe of its section 8.1.1.

Samples are small, so what they show is compared with what the full size implies: the expected number of distinct words
is computed from the recipe, must be Table 1's at the full size (1 %), and must be the sample's at its size (1.5 % and 5
standard deviations). Means are held to 1 % and 5 standard errors, so that no seed fails by chance.
"""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearcast.bench import workloads
from nearcast.bench.workloads import Synthetic, words
from nearcast.bench.workloads.recipe import RECIPES
from nearcast.bench.workloads.times import arrival_times
from nearcast.errors import InvalidInput
from nearcast.space import Earth, Plane
from nearcast.text import Tokenizer, Vocabulary

N = 1000 if numba.config.DISABLE_JIT else 20_000
NAMES = sorted(RECIPES)


def occurrences_of_each_word(workload: Synthetic) -> np.ndarray:
    """The probability of each word at each draw, by the closed forms that the kernels invert."""
    w = workload.world
    edges = np.arange(w.global_words + 1.0) + w.shift
    tail = 1.0 - w.exponent
    rank = np.diff(edges**tail) / (edges[-1] ** tail - edges[0] ** tail)
    topic_share = w.topic_messages * w.topic_share
    local_share = (1.0 - w.background) * w.local_share
    known_everywhere = rank * (1.0 - topic_share - local_share)
    topics, size = w.topic_words.shape
    topic = np.diff(np.log(np.arange(1.0, topics + 2))) / np.log(topics + 1.0)
    place = np.diff(np.sqrt(np.arange(size + 1.0) / size))
    np.add.at(known_everywhere, w.topic_words, topic_share * topic[:, None] * place)
    cities = np.diff(w.city_upto, prepend=0.0)
    local = [
        local_share * share * np.diff(np.log(np.arange(1.0, own + 2))) / np.log(own + 1.0)
        for share, own in zip(cities, np.diff(w.local_from), strict=True)
    ]
    return np.concatenate([known_everywhere, *local])


def expected_vocabulary(workload: Synthetic, draws: float) -> tuple[float, float]:
    """Mean and standard deviation of the number of distinct words after so many draws."""
    seen = -np.expm1(-draws * occurrences_of_each_word(workload))
    return float(seen.sum()), float(np.sqrt((seen * (1.0 - seen)).sum()))


def synthetic(name: str, messages: int = N, seed: int = 1) -> Synthetic:
    workload = workloads.load(name, messages, seed)
    assert isinstance(workload, Synthetic)
    return workload


def rows_of(workload: Synthetic, count: int = N) -> list[list[int]]:
    drawn = workload.documents(0, count)
    return [part.tolist() for part in np.split(drawn.words, drawn.offsets[1:-1])]


@pytest.mark.parametrize("name", NAMES)
def test_vocabulary_is_table_1s(name: str, seed: int) -> None:
    workload = synthetic(name, seed=seed)
    drawn = workload.documents(0, N).words
    mean, spread = expected_vocabulary(workload, drawn.size)
    assert abs(np.unique(drawn).size - mean) < 5 * spread + 0.015 * mean  # topics and places make draws dependent
    full = drawn.size / N * workload.recipe.table_messages
    assert expected_vocabulary(workload, full)[0] == pytest.approx(workload.recipe.table_vocabulary, rel=0.01)


@pytest.mark.lanes
@pytest.mark.parametrize("name", NAMES)
def test_words_a_message_are_table_1s(name: str, seed: int) -> None:
    workload = synthetic(name, seed=seed)
    found = workloads.describe(workload)
    error = 5 * found.words_spread / np.sqrt(N) + 0.01 * workload.recipe.table_words
    assert abs(found.words - workload.recipe.table_words) < error
    assert found.words_spread > 0.2 * found.words
    assert found.messages == N


@pytest.mark.parametrize("name", NAMES)
def test_describe_counts_what_is_in_the_texts(name: str, seed: int) -> None:
    workload = synthetic(name, 300, seed)
    found = workloads.describe(workload)
    tokenizer = Tokenizer()
    texts = [text for table in workload.tables() for text in table["text"].to_pylist()]
    frequencies = Counter(word for text in texts for word in set(tokenizer.words(text)))
    total = sum(frequencies.values())
    assert found.vocabulary == len(frequencies)
    assert found.words == pytest.approx(total / 300)
    top = [count for _, count in frequencies.most_common(100)]
    assert found.top_10_share == pytest.approx(sum(top[:10]) / total)
    assert found.top_100_share == pytest.approx(sum(top) / total)
    assert list(found.top_words.values()) == [count / 300 for count in top[:10]]
    assert all(frequencies[word] == round(share * 300) for word, share in found.top_words.items())
    assert found.once_share == pytest.approx(list(frequencies.values()).count(1) / len(frequencies))


@pytest.mark.parametrize("name", NAMES)
def test_words_fall_off_as_the_recipe_says(name: str, seed: int) -> None:
    workload = synthetic(name, seed=seed)
    drawn = workload.documents(0, N).words
    share = occurrences_of_each_word(workload)
    assert share.sum() == pytest.approx(1.0)
    for first, last in ((0, 10), (10, 100), (100, 1000), (workload.recipe.global_words, share.size)):
        p = share[first:last].sum()
        found = np.count_nonzero((drawn >= first) & (drawn < last)) / drawn.size
        # Draws are not independent (a message stops at its distinct words): two percent beside the standard error.
        assert abs(found - p) < 0.02 * p + 10 * np.sqrt(p / drawn.size)


@pytest.mark.lanes
@pytest.mark.parametrize("name", NAMES)
def test_any_batch_size_gives_the_same_messages(name: str, seed: int) -> None:
    workload = synthetic(name, 200, seed)
    whole = pa.concat_tables(workload.tables())
    assert pa.concat_tables(workload.tables(chunk=7)).equals(whole)
    assert pa.concat_tables(workload.tables(chunk=50, first=60, count=100)).equals(whole.slice(60, 100))
    assert pa.concat_tables(synthetic(name, 200, seed).tables()).equals(whole)
    assert not pa.concat_tables(synthetic(name, 200, seed + 1).tables()).equals(whole)
    assert whole.schema == pa.schema({"text": pa.string(), "x": "f8", "y": "f8", "time": "i8"})


@pytest.mark.parametrize("name", NAMES)
def test_own_words_of_a_city_stay_in_it(name: str, seed: int) -> None:
    workload = synthetic(name, seed=seed)
    w = workload.world
    local = 0
    for row in rows_of(workload):
        own = [word for word in row if word >= w.global_words]
        local += len(own)
        assert len(set(np.searchsorted(w.local_from, own, side="right").tolist())) <= 1
    assert local > 0.03 * workload.documents(0, N).words.size


@pytest.mark.parametrize("name", NAMES)
def test_places_are_in_the_box_and_crowded(name: str, seed: int) -> None:
    workload = synthetic(name, seed=seed)
    drawn = workload.documents(0, N)
    xmin, ymin, xmax, ymax = workload.box
    assert xmin <= drawn.x.min() < drawn.x.max() <= xmax
    assert ymin <= drawn.y.min() < drawn.y.max() <= ymax
    densest = workloads.describe(workload).densest_share
    even = np.random.default_rng(seed).poisson(N / 10_000, 10_000)
    assert densest > 1.2 * np.sort(even)[-100:].sum() / N
    repeated = N - np.unique(np.stack([drawn.x, drawn.y]), axis=1).shape[1]
    assert (repeated > 0) == (workload.recipe.venues > 0)


def test_words_of_a_topic_occur_together(seed: int) -> None:
    workload = synthetic("tweets", seed=seed)
    first, second = workload.world.topic_words[0, :2].tolist()
    rows = [set(row) for row in rows_of(workload)]
    alone = sum(second in row for row in rows) / N
    beside = [second in row for row in rows if first in row]
    assert len(beside) > 10 * N / 20_000
    assert sum(beside) / len(beside) > 5 * alone
    leading = np.unique(workload.world.topic_words[:, 0])  # a topic's first word is its most frequent
    leading = leading[leading > 1000]  # rare outside the topic
    share = occurrences_of_each_word(workload)[leading].sum()
    drawn = workload.documents(0, N).words
    assert abs(np.isin(drawn, leading).mean() - share) < 0.02 * share + 10 * np.sqrt(share / drawn.size)


@pytest.mark.lanes
def test_spelled_words_are_unique_and_survive_the_tokenizer(rng: np.random.Generator) -> None:
    lengths = [70**2 * 8, 70**2 * 8 + 70**3 * 8]  # of six, of up to eight letters
    numbers = {0, 1, *(rng.integers(0, words.MAX_WORDS, 2000).tolist()), *rng.integers(0, 40_000, 500).tolist()}
    numbers |= {near + step for near in lengths for step in (-1, 0, 1)} | {words.MAX_WORDS - 1}
    spelled = words.spelled(np.array(sorted(numbers), np.int32)).to_pylist()
    assert len(set(spelled)) == len(numbers)
    assert {len(word) for word in spelled} == {6, 8, 10}
    many = Tokenizer(("en", "de", "es", "fr", "it", "nl", "pt", "sv", "pl", "tr", "id", "hu", "eu"), stemmer="english")
    for tokenizer in (Tokenizer(), many):
        assert tokenizer.words(f"{' '.join(spelled).capitalize()}.") == spelled


@pytest.mark.lanes
def test_words_of_each_length_are_all_spelled_differently() -> None:
    count = 70**2 * 8 if not numba.config.DISABLE_JIT else 2000
    assert len(set(words.spelled(np.arange(count, dtype=np.int32)).to_pylist())) == count


@pytest.mark.lanes
@pytest.mark.parametrize("bursts", [1.0, 8.0])
def test_times_rise_at_the_rate(bursts: float, seed: int) -> None:
    rate = N / 240.0  # four cycles of a minute
    times = arrival_times(np.uint64(seed), 0, N, rate, bursts, start=1000)
    assert (np.diff(times) >= 0).all()
    assert times[0] >= 1000 and times[-1] <= 241_000
    for first in (0, N // 3):
        part = arrival_times(np.uint64(seed), first, 50, rate, bursts, start=1000)
        assert (part == times[first : first + 50]).all()
    for cycle in range(4):  # each minute has its share of messages …
        inside = np.count_nonzero((times >= 1000 + cycle * 60_000) & (times < 1000 + (cycle + 1) * 60_000))
        assert inside == pytest.approx(N / 4, abs=2)
    fullest = np.sort(np.bincount((times - 1000) // 1000, minlength=240))[::-1]
    if bursts > 1:  # … and half of them in one sixteenth of it
        assert fullest[: 240 // 16 + 8].sum() > 0.5 * N
    else:
        assert fullest[0] <= 1.2 * N / 240 + 3


@pytest.mark.lanes
@pytest.mark.parametrize("name", NAMES)
def test_subscriptions_are_made_from_messages(name: str, seed: int) -> None:
    workload = synthetic(name, seed=seed)
    n = N // 2
    table = workloads.subscriptions(workload, n, seed=seed)
    source = next(workload.sources(n, seed))
    texts = words.texts(source.offsets, source.words).to_pylist()
    sizes = Counter()
    for row, keywords in enumerate(table["keywords"].to_pylist()):
        of_message = set(texts[row].lower().rstrip(".").split())
        assert set(keywords) <= of_message
        assert len(set(keywords)) == len(keywords)
        if len(of_message) >= 5:
            sizes[len(keywords)] += 1
        assert len(keywords) <= len(of_message)
    assert (table["x"].to_numpy() == source.x).all() and (table["y"].to_numpy() == source.y).all()
    assert sorted(sizes) == [1, 2, 3, 4, 5]
    fair = sizes.total() / 5
    assert all(abs(size - fair) < 5 * np.sqrt(fair) for size in sizes.values())
    alpha = table["alpha"].to_numpy()
    assert alpha.min() >= 0 and alpha.max() <= 1
    assert abs(alpha.mean() - 0.5) < 5 / np.sqrt(12 * n)
    assert set(table["k"].to_pylist()) == {20}
    assert len(set(table["id"].to_pylist())) == n
    assert workloads.subscriptions(workload, n, seed=seed).equals(table)
    assert not workloads.subscriptions(workload, n, seed=seed + 1).equals(table)
    own = {tuple(row) for row in zip(*(workload.documents(0, N)[2:]), strict=True)}
    fresh = [row not in own for row in zip(source.x, source.y, strict=True)]
    assert all(fresh) or workload.recipe.venues


@pytest.mark.lanes
def test_subscriptions_as_asked(seed: int) -> None:
    workload = synthetic("tweets", 300, seed)
    table = workloads.subscriptions(workload, 200, k=5, seed=seed, keywords=(2, 2), alpha=0.25)
    assert set(table["k"].to_pylist()) == {5}
    assert set(table["alpha"].to_pylist()) == {0.25}
    assert {len(keywords) for keywords in table["keywords"].to_pylist()} <= {1, 2}
    assert table["keywords"].type == pa.list_(pa.string())


@pytest.mark.lanes
def test_zipf_subscriptions_follow_the_ranking(seed: int) -> None:
    workload = synthetic("tweets", seed=seed)
    n = N // 2
    table = workloads.subscriptions(workload, n, seed=seed, keywords=(1, 3), distribution="zipf")
    lists = table["keywords"].to_pylist()
    assert all(len(set(keywords)) == len(keywords) for keywords in lists)
    ranking = workload.spell(workload.counts.by_frequency()).to_pylist()
    frequency = Counter(itertools.chain.from_iterable(lists))
    assert set(frequency) <= set(ranking)
    share = np.log(2.0) / np.log(len(ranking) + 1.0)  # of the first rank at each draw; drawn twice it counts once
    assert frequency[ranking[0]] / frequency.total() == pytest.approx(share, rel=0.15, abs=5 * np.sqrt(share / n))
    assert sum(frequency[word] for word in ranking[:100]) > 0.3 * frequency.total()


def test_more_keywords_than_words_take_every_word() -> None:
    workload = synthetic("gn", 1)
    known = workload.spell(workload.counts.by_frequency()).to_pylist()
    table = workloads.subscriptions(workload, 20, keywords=(64, 64), distribution="zipf")
    assert all(sorted(keywords) == sorted(known) for keywords in table["keywords"].to_pylist())


@pytest.mark.lanes
def test_encoded_messages_are_those_of_the_vocabulary(seed: int) -> None:
    workload = synthetic("gn", 300, seed)
    vocabulary = workload.vocabulary()
    assert vocabulary.frozen and vocabulary.documents == 300
    whole = pa.concat_tables(workload.tables())
    one_by_one = vocabulary.encode(whole["text"].to_pylist(), count=True)
    parts = list(workload.encoded(vocabulary, chunk=70))
    assert [part.x.size for part in parts] == [70, 70, 70, 70, 20]
    assert np.concatenate([part.vectors.terms for part in parts]).tolist() == one_by_one.terms.tolist()
    assert np.concatenate([part.vectors.weights for part in parts]).tolist() == one_by_one.weights.tolist()
    assert np.concatenate([part.time for part in parts]).tolist() == whole["time"].to_pylist()
    assert np.concatenate([part.y for part in parts]).tolist() == whole["y"].to_pylist()


def test_spaces() -> None:
    workload = synthetic("yelp", 10)
    assert workload.space() == Plane(*workload.box)
    assert workload.space("earth", max_km=50) == Earth(50.0)
    assert workload.space("earth") == Earth()


def write(path: Path, texts: list[str | None], ts: list[int | None] | None = None, **other: list) -> Path:
    rows = len(texts)
    columns = {
        "text": pa.array(texts, pa.string()),
        "lon": pa.array(other.get("lon") or [float(row) for row in range(rows)], pa.float64()),
        "lat": pa.array(other.get("lat") or [row / 2 for row in range(rows)], pa.float64()),
        "ts": pa.array(ts or [None] * rows, pa.int64()),
    }
    pq.write_table(pa.table(columns), path)
    return path


def test_file_without_times(tmp_path: Path, seed: int) -> None:
    path = write(tmp_path / "places.parquet", [f"Cafe number{row} blue" for row in range(100)])
    workload = workloads.load(path, 60, seed, rate=10.0)
    table = pa.concat_tables(workload.tables(chunk=7))
    used = set(table["x"].to_pylist())
    assert len(used) == 60 and used <= set(range(100))
    assert table["x"].to_pylist() != sorted(table["x"].to_pylist())
    assert all(
        text == f"Cafe number{x:.0f} blue"
        for text, x in zip(table["text"].to_pylist(), table["x"].to_pylist(), strict=True)
    )
    times = table["time"].to_numpy()
    assert (np.diff(times) >= 0).all() and 5000 <= times[-1] - times[0] <= 6000
    made = workloads.subscriptions(workload, 40, seed=seed)
    assert set(made["x"].to_pylist()) == set(range(100)) - used
    assert {word for row in made["keywords"].to_pylist() for word in row} <= {"cafe", "blue"} | {
        f"number{row}" for row in set(range(100)) - {int(x) for x in used}
    }
    assert workload.notes == []
    assert workload.box == pytest.approx((0, 0, 99, 49.5), abs=1e-5)
    assert len(set(workloads.subscriptions(workload, 41, seed=seed)["x"].to_pylist()) & used) > 0
    assert workload.notes == ["41 subscriptions, 40 rows outside the stream: rows are reused"]
    assert workloads.describe(workload).vocabulary == 62


def test_file_with_times_is_read_in_order_and_repeats(tmp_path: Path) -> None:
    path = write(tmp_path / "notices.parquet", ["c late", "a early", "b middle"], ts=[900, 100, 500])
    workload = workloads.load(str(path), 7)
    table = pa.concat_tables(workload.tables(chunk=2))
    assert table["text"].to_pylist() == ["a early", "b middle", "c late"] * 2 + ["a early"]
    assert table["time"].to_pylist() == [100, 500, 900, 901, 1301, 1701, 1702]
    assert workload.notes == ["7 messages from 3 rows: the file repeats"]
    assert workloads.subscriptions(workload, 10).num_rows == 10
    replaced = workloads.load(path, 3, rate=1.0)
    assert next(replaced.tables())["time"].to_pylist()[0] > 900


def test_file_with_some_times_or_timestamps(tmp_path: Path) -> None:
    path = write(tmp_path / "some.parquet", ["a one", "b two"], ts=[5, None])
    workload = workloads.load(path, 2)
    assert workload.notes == ["1 rows have no time, so all get synthetic ones"]
    table = pq.read_table(path).set_column(3, "ts", pa.array([5_000, 4_000], pa.timestamp("us")))
    pq.write_table(table, path)
    assert next(workloads.load(path, 2).tables())["time"].to_pylist() == [4, 5]


def test_unusable_rows_are_left_out(tmp_path: Path) -> None:
    lon = [0.0, 181.0, float("nan"), None, 4.0, 5.0]
    path = write(tmp_path / "bad.parquet", ["good", "far", "nan", "null", None, "the"], lon=lon, lat=[1.0] * 6)
    workload = workloads.load(path, 2)
    assert workload.notes == ["4 rows left out: text or place is missing or too large"]
    assert sorted(next(workload.tables())["text"].to_pylist()) == ["good", "the"]
    made = workloads.subscriptions(workload, 5)  # "the" has no keyword, so it makes no subscription
    assert made["keywords"].to_pylist() == [["good"]] * 5
    write(path, ["the", "and"])
    with pytest.raises(InvalidInput, match="no row's text has a usable word"):
        workloads.subscriptions(workloads.load(path, 1), 1)
    write(path, [None])
    with pytest.raises(InvalidInput, match="no usable row"):
        workloads.load(path, 1)


def test_file_words_are_the_tokenizers(tmp_path: Path) -> None:
    texts = ["The Ramen House, ramen!", "Joe's RAMEN"]
    path = write(tmp_path / "words.parquet", texts)
    found = workloads.describe(workloads.load(path, 2))
    assert found.top_words["ramen"] == 1.0
    assert found.vocabulary == len(Vocabulary.fit(texts))


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"name": "reviews"}, "workload"),
        ({"name": "nowhere.parquet"}, "data"),
        ({"messages": 0}, "messages"),
        ({"seed": -1}, "seed"),
        ({"rate": 0.0}, "rate"),
        ({"bursts": 0.5}, "bursts"),
        ({"rate": float("nan")}, "rate"),
    ],
)
def test_bad_settings_are_refused(arguments: dict, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        next(workloads.load(**{"name": "gn", "messages": 5, **arguments}).tables())
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"n": 0}, "n"),
        ({"k": 0}, "k"),
        ({"keywords": (0, 5)}, "keywords"),
        ({"keywords": (3, 2)}, "keywords"),
        ({"alpha": 1.5}, "alpha"),
        ({"distribution": "even"}, "distribution"),
    ],
)
def test_bad_subscriptions_are_refused(arguments: dict, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        workloads.subscriptions(synthetic("gn", 5), **{"n": 5, **arguments})
    assert refused.value.field == field


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    path.write_bytes(b"not parquet")
    with pytest.raises(InvalidInput, match="cannot be read"):
        workloads.load(path, 1)
    pq.write_table(pa.table({"text": ["a"], "lon": [0.0]}), path)
    with pytest.raises(InvalidInput, match="no column lat, ts"):
        workloads.load(path, 1)
    with pytest.raises(InvalidInput, match="0 to 5, not 3 to 9"):
        list(synthetic("gn", 5).tables(first=3, count=6))
