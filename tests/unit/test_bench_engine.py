"""`nearcast bench engine` in a tiny size: every field, its samples, and that wrong results do not pass."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from nearcast import InvalidInput, warmup
from nearcast.bench import cli
from nearcast.bench.engine import floor, prepare
from nearcast.bench.engine.options import Options
from nearcast.bench.engine.phases import run_batches
from nearcast.shard import Shard

TINY = ["--subscriptions", "600", "--window", "0.5k", "--messages", "700", "--singles", "60", "--check", "50"]
SPREADS = ("arrival_us", "expiry_us", "publish_us", "publish_cpu_us")
PLAIN = (
    "messages_per_s", "floor_us", "floor_wall_us", "ratio", "register_s", "fill_s", "refills",
    "bytes_per_subscription", "buffer_mean", "postings_seen", "affected", "changes_per_message", "checked_lists",
    "wrong_lists", "ratio_wall", "verified",
)  # fmt: skip


@pytest.fixture(autouse=True)
def warm(monkeypatch):
    """The tests before this one have loaded the kernels, or this one will."""
    monkeypatch.setattr(warmup, "warm_up_with_progress", lambda *, quiet: None)


def bench(*arguments):
    """Run the command; its exit code, its last line as numbers, and what it said on the way."""
    done = CliRunner().invoke(cli.app, ["engine", *TINY, *map(str, arguments)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.fixture
def venues(tmp_path, rng):
    """A small file of texts and places."""
    words = np.array([f"word{number}" for number in range(60)])
    rows = 900
    ranks = np.minimum(rng.zipf(1.3, (rows, 5)), 60) - 1
    texts = [" ".join(words[row]) for row in ranks]
    columns = {"text": texts, "lon": rng.normal(12.0, 1.0, rows), "lat": rng.normal(42.0, 1.0, rows)}
    path = tmp_path / "venues.parquet"
    pq.write_table(pa.table({**columns, "ts": pa.array([None] * rows, pa.int64())}), path)
    return path


def test_a_generated_load(tmp_path):
    out = tmp_path / "results" / "tweets.json"
    code, numbers, log = bench("--workload", "tweets", "--json", out)
    assert code == 0, log
    for name in PLAIN:
        assert math.isfinite(numbers[name]), name
    for name in SPREADS:
        points = numbers[name]
        assert 0 <= points["p50"] <= points["p99"] <= points["max"] and math.isfinite(points["mean"]), name
    assert (numbers["checked_lists"], numbers["wrong_lists"], numbers["floor_wrong_lists"]) == (100, 0, 0)
    assert numbers["counters"]["messages"] == 700
    assert 0 < numbers["refills"] < numbers["affected"] <= numbers["verified"] <= numbers["postings_seen"]
    assert numbers["changes_per_message"] > numbers["affected"]  # whoever enters a full list pushes out another
    assert set(numbers["stages_us"]) == {"expire", "filter", "verify", "offer", "refill", "report", "intake"}
    assert min(numbers["stages_us"].values()) > 0
    assert sum(numbers["stages_us"].values()) == pytest.approx(numbers["work_us"] + numbers["disturbed_us"], rel=0.05)
    assert numbers["buffer_mean"] > 5
    assert numbers["ratio"] == pytest.approx(numbers["work_us"] / numbers["floor_us"], rel=1e-3)
    assert numbers["environment"]["cores"] >= 1
    assert "Registering subscriptions" in log

    assert json.loads(out.read_text()) == numbers
    batches, singles = (pq.read_table(out.with_suffix(f".{name}.parquet")) for name in ("batches", "singles"))
    assert batches["seq"].to_pylist() == list(range(500, 1200))
    assert singles["seq"].to_pylist() == list(range(1200, 1260))
    measured = numbers["floor_us"] + numbers["floor_disturbed_us"]
    assert np.mean(batches["floor_us"]) == pytest.approx(measured, rel=1e-3)
    assert numbers["floor_disturbed_us"] >= 0 and numbers["disturbed_us"] >= 0
    assert np.mean(batches["affected"]) == pytest.approx(numbers["affected"], rel=1e-3)
    assert np.max(singles["publish_us"]) == pytest.approx(numbers["publish_us"]["max"], rel=1e-3)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--space", "earth", "--max-km", "50", "--threads", "1", "--batch", "3000"],
        ["--order", "paper", "--threads", "3", "--batch", "64", "--k", "3"],
    ],
)
def test_a_file(venues, arguments):
    code, numbers, log = bench("--workload", venues, *arguments)
    assert code == 0, log
    assert (numbers["wrong_lists"], numbers["floor_wrong_lists"]) == (0, 0)
    assert numbers["notes"]  # the file is shorter than the stream
    assert all(math.isfinite(numbers[name]) for name in PLAIN)


def test_without_the_floor():
    code, numbers, _ = bench("--no-floor")
    assert code == 0
    assert "floor_us" not in numbers and "ratio" not in numbers


@pytest.mark.parametrize("spoil", [
    lambda seqs, scores: (seqs, np.append(np.nextafter(scores[:1], np.float32(2)), scores[1:])),
    lambda seqs, scores: (seqs[::-1], scores),
    lambda seqs, scores: (seqs[:-1], scores[:-1]),
])  # fmt: skip
def test_a_wrong_list_is_found(monkeypatch, spoil):
    """One list in eight: a score off by the least possible, an order turned around, a message missing."""
    honest = Shard.list
    monkeypatch.setattr(
        Shard, "list", lambda self, row: spoil(*honest(self, row)) if row % 8 == 0 else honest(self, row)
    )
    code, numbers, log = bench()
    assert code == 1
    assert 0 < numbers["wrong_lists"] < 60
    assert "wrong list, s" in log


def test_a_floor_that_does_something_else_is_found(monkeypatch):
    honest = floor.translate

    def translate(engine, copy):
        traces = honest(engine, copy)
        traces[0].scores[-1] *= 1.01
        return traces

    monkeypatch.setattr(floor, "translate", translate)
    code, numbers, log = bench()
    assert code == 1
    assert (numbers["wrong_lists"], numbers["floor_wrong_lists"]) == (0, 1)
    assert "the floor is none" in log


def test_recordings_are_translated_between_any_numbers_of_shards():
    """The floor of a recording made with three shards, applied to a copy with two: the same buffers."""
    options = Options(subscriptions=400, window=300, messages=500, singles=1, threads=3, batch=200)
    made = prepare.make_load(options)
    engine = prepare.make_engine(options, made.workload)
    other = prepare.make_engine(Options(**{**vars(options), "threads": 2}), made.workload)
    for each in (engine, other):
        for table in made.workload.tables(300, 0, 300):
            each.publish_many(table)
        each.subscribe_many(made.subscriptions)
    run_batches(engine, made.batches, lambda count: None)
    assert floor.differing(engine, other) > 100
    floor.run_floor(engine, other)
    assert floor.differing(engine, other) == 0


@pytest.mark.parametrize(
    ("given", "number"), [("20000", 20_000), ("100k", 100_000), ("1.5m", 1_500_000), ("2M", 2_000_000), (7, 7)]
)
def test_sizes(given, number):
    assert cli.size(given) == number


@pytest.mark.parametrize("given", ["", "k", "0", "-1", "1.0001k", "nan", "inf", "1e99m", "1g", "ten"])
def test_sizes_that_are_none(given):
    with pytest.raises(typer.BadParameter, match="takes a"):
        cli.size(given)


def test_a_radius_needs_the_earth():
    with pytest.raises(InvalidInput, match="max-km"):
        bench("--max-km", "50")


def test_a_table_of_results(tmp_path):
    for name in ("one", "two"):
        bench("--workload", "tweets", "--no-floor", "--json", tmp_path / f"{name}.json")
    done = CliRunner().invoke(cli.app, ["table", str(tmp_path)])
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    assert [row[0] for row in rows] == ["| run", "| one", "| two"] and len({len(row) for row in rows}) == 1
    numbers = json.loads((tmp_path / "one.json").read_text())
    assert rows[1][1] == f"{numbers['messages_per_s']:,.0f}" and rows[1][4] == ""  # no floor, no ratio
    assert rows[1][-1] == "0 of 100 |" and numbers["environment"]["commit"] in done.stdout


def test_a_folder_without_results(tmp_path):
    assert isinstance(CliRunner().invoke(cli.app, ["table", str(tmp_path)]).exception, InvalidInput)
