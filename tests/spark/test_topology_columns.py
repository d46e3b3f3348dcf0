"""Columns in transit, the clock, aggregation, and what a batch reports."""

import numpy as np
import pytest

from nearcast.errors import InvalidInput
from nearcast.model import last, within
from nearcast.space import plane
from nearcast.spark.distribution import Hashing, communication_cost, replication_ratio
from nearcast.spark.topology import (
    Answers,
    Batch,
    Clock,
    Columns,
    Copies,
    Messages,
    Newcomers,
    Notices,
    Partials,
    Requests,
    Topology,
    aggregate,
)
from nearcast.spark.topology.columns import TYPES
from nearcast.spark.topology.streams import Hits
from support.distribution import SETTINGS
from support.topology import Life

KINDS = (Messages, Newcomers, Hits, Requests, Partials, Answers, Notices, Copies)


def some(rng, kind, rows):
    """Columns at random."""
    columns = {}
    for name in kind.names():
        if name.endswith("offsets"):
            columns[name] = np.cumsum([0, *rng.integers(0, 4, rows)])
        else:
            size = int(columns[kind.cut_by()[name]][-1]) if name in kind.cut_by() else rows
            columns[name] = rng.integers(0, 100, size)
    return kind.of(**columns)


def plain(columns):
    """A list of rows, each a tuple of values and lists."""
    cuts = columns.cut_by()
    rows = []
    for i in range(columns.rows):
        row = []
        for name in columns.names():
            values = getattr(columns, name)
            assert values.dtype == TYPES[name]
            if name in cuts:
                offsets = getattr(columns, cuts[name])
                row.append(values[offsets[i] : offsets[i + 1]].tolist())
            elif not name.endswith("offsets"):
                row.append(values[i].item())
        rows.append(row)
    return rows


@pytest.mark.lanes
@pytest.mark.parametrize("kind", KINDS)
def test_rows_survive_transit(rng, kind):
    for size in (0, 1, 7):
        columns = some(rng, kind, size)
        rows = plain(columns)
        chosen = rng.integers(0, max(size, 1), 5 if size else 0)
        assert plain(columns.take(chosen)) == [rows[i] for i in chosen]
        table = columns.to_arrow()
        assert plain(kind.from_arrow(table)) == rows
        assert plain(kind.from_arrow(table.slice(2, 3))) == rows[2:5]
        goals = rng.integers(0, 3, size).astype(np.int32)
        parts = columns.split(goals, 3)
        assert [plain(part) for part in parts] == [[rows[i] for i in np.flatnonzero(goals == g)] for g in range(3)]
        assert plain(kind.joined(parts)) == [row for part in parts for row in plain(part)]
    assert plain(kind.joined([])) == plain(kind.none()) == []


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)
def test_all_streams_may_go_as_arrow(rng, monkeypatch, name, settings):
    """The lists are the same if all that travels is written as Arrow and read again."""
    split, crossed = Columns.split, set()

    def through_arrow(self, goals, count):
        crossed.add(type(self).__name__)
        return [type(self).from_arrow(part.to_arrow()) for part in split(self, goals, count)]

    monkeypatch.setattr(Columns, "split", through_arrow)
    life = Life(rng, name, settings, keepers=2)
    for _ in range(10):
        life.step()
    assert crossed == {"Messages", "Newcomers", "Hits", "Answers", "Notices", "Copies"}


def test_the_clock_counts_and_expires():
    clock = Clock(last(3))
    assert clock.take([5, 1])[0] == (0, 0, 0, 1)
    tick, times = clock.take([4, 9, 8, 20], now=7)
    assert tick == (0, 3, 2, 5) and times.tolist() == [5, 9, 9, 20]
    clock = Clock(within(milliseconds=10))
    assert clock.take([0, 5])[0] == (0, 0, 0, 1)
    assert clock.take([10])[0] == (0, 1, 2, 2)
    again = Clock(clock.window)
    again.load(clock.save())
    for each in (clock, again):
        assert each.take([], now=14)[0] == (1, 1, 3, 2)
        assert each.take([], now=15)[0] == (1, 2, 3, 2)
        assert each.take([100, 200])[0] == (2, 4, 3, 4)
        assert each.take([], now=1000)[0] == (4, 5, 5, 4)


@pytest.mark.lanes
def test_parts_are_merged(rng):
    """Whatever the parts, the answer is the rank-th best of all and what reaches it, in the order of lists."""
    for _ in range(60):
        count, keepers = int(rng.integers(0, 5)), int(rng.integers(1, 5))
        ranks = rng.integers(1, 9, count)
        whole, parts = [[] for _ in range(count)], []
        for keeper in range(keepers):
            lists = []
            for i in range(count):
                own = rng.permutation(50)[: rng.integers(0, 12)] * keepers + keeper
                entries = sorted((-s / 8, -int(q)) for s, q in zip(rng.integers(0, 9, len(own)), own, strict=True))
                whole[i] += entries
                reach = entries[ranks[i] - 1][0] if len(entries) >= ranks[i] else 0
                lists.append([entry for entry in entries if entry[0] <= reach])
            flat = [entry for own in lists for entry in own]
            parts.append(
                Partials.of(
                    numbers=np.arange(count),
                    homes=np.zeros(count),
                    ranks=ranks,
                    works=np.ones(count),
                    offsets=np.cumsum([0, *map(len, lists)]),
                    scores=[-s for s, _ in flat],
                    seqs=[-q for _, q in flat],
                )
            )
        answers = aggregate(parts)
        for i in range(count):
            best = sorted(whole[i])
            theta = -best[ranks[i] - 1][0] if len(best) >= ranks[i] else 0.0
            here = slice(*answers.offsets[i : i + 2])
            assert answers.thetas[i] == np.float32(theta) and answers.works[i] == keepers
            got = list(zip(answers.scores[here].tolist(), answers.seqs[here].tolist(), strict=True))
            assert got == [(-s, -q) for s, q in best if -s >= theta]


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)
def test_what_a_batch_reports(rng, name, settings):
    life = Life(rng, name, settings, partitions=4, keepers=3)
    quiet = 0
    for _ in range(30):
        life.step()
        report, topology = life.reports[-1], life.topology
        batches = [partition.batch(partition.homed()) for partition in topology.partitions]
        assigned = [topology.mechanism.assign(batch) for batch in batches]
        held = sum(len(routes.partitions) for routes in assigned)
        assert sum(report.homes) == life.reference.subscriptions and sum(report.held) == held
        if held:
            rows = [routes.rows * replication_ratio(routes) for routes in assigned]
            assert report.replication_ratio == pytest.approx(sum(rows) / sum(report.homes))
        assert report.communication_cost <= 4 and report.skew >= 1
        assert len(report.message_bytes) == 3 and len(report.subscription_bytes) == 4
        assert report.travelled <= report.hits
        if not report.requests:
            quiet += 1
            assert report.partials == 0 and report.bytes_by_stream["6"] == 0
    assert quiet
    batch = life.messages([("w0 w1", *life.world._place(), life.reference.time or 0)] * 5)
    routed = topology.mechanism.route(batch.batch())
    live = 5 if topology.clock.window != last(1) else 1
    report = topology.run(Batch(batch, Newcomers.none())).report
    if live == 5 and topology.clock.next - topology.clock.live >= 5:
        assert report.communication_cost == communication_cost(routed)


def test_what_is_refused():
    space, mechanism = plane(0, 0, 1, 1), Hashing(2, np.arange(2, dtype=np.int32))
    with pytest.raises(InvalidInput, match="keepers"):
        Topology(last(3), space, mechanism, keepers=0)
    topology = Topology(last(3), space, mechanism)
    with pytest.raises(InvalidInput, match="numbers"):
        topology.run(Batch(Messages.none(), some(np.random.default_rng(0), Newcomers, 1).of(
            numbers=[1 << 32], x=[0], y=[0], alphas=[0], ks=[1], offsets=[0, 1], terms=[1], weights=[1]
        )))  # fmt: skip
    with pytest.raises(InvalidInput, match="not registered"):
        topology.top(7)
    with pytest.raises(InvalidInput, match="fewer"):
        topology.adapt(Hashing(1, np.zeros(1, np.int32)))
