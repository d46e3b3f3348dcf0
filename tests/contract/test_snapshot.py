"""Snapshot and restore: the restored engine continues exactly as the original would."""

import random

import pyarrow as pa
import pytest

from nearcast.errors import DamagedSnapshot, InvalidInput
from nearcast.model import last, within
from nearcast.space import earth, plane
from support.compare import check
from support.implementations import IMPLEMENTATIONS
from support.state import answers
from support.streams import World


def test_a_restored_engine_continues_exactly(implementation, tmp_path, seed):
    for number in range(12):
        world = World(seed * 1000 + number)
        engine = world.engine(implementation)
        for _ in range(60):
            world.next(list(engine)).on(engine)
        engine.snapshot(tmp_path / "snapshot")
        restored = implementation.restore(tmp_path / "snapshot")
        assert (restored.window, restored.space) == (engine.window, engine.space)
        for _ in range(60):
            operation = world.next(list(engine))
            check(operation.on(restored), operation.on(engine), f"seed {seed}, world {number}: {operation}")
        assert answers(restored) == answers(engine)


def test_a_snapshot_of_a_restored_engine(implementation, make, tmp_path):
    engine = make(within(milliseconds=20), earth(max_km=50))
    engine.subscribe("gone", "ramen", at=(0, 0))
    engine.subscribe("a", "ramen", at=(0, 0), k=2)
    engine.unsubscribe("gone")
    payloads = [None, b"bytes", "text", 7, {"n": [1, None, "é"]}, 1.5]
    for time, payload in enumerate(payloads):
        engine.publish("ramen", at=(0, 0.001 * time), time=time, payload=payload, id=f"m{time}")
    first, second = tmp_path / "first", tmp_path / "second"
    engine.snapshot(first)
    again = implementation.restore(first)
    again.snapshot(second)
    twice = implementation.restore(second)
    assert answers(twice) == answers(engine)
    for each in (engine, again, twice):
        each.subscribe("b", "ramen", at=(0, 0))
    assert [entry.payload for entry in twice.top("b")] == payloads
    assert twice.top("b") == again.top("b") == engine.top("b")
    assert list(twice) == ["a", "b"]


def test_an_empty_engine(implementation, make, tmp_path):
    make(last(3), plane(0, 0, 1, 1)).snapshot(tmp_path / "empty")
    engine = implementation.restore(tmp_path / "empty")
    assert (list(engine), engine.newest_seq, engine.time) == ([], -1, None)
    engine.subscribe("a", "ramen", at=(0, 0))
    assert len(engine.publish("ramen", at=(0, 0))) == 1


def test_large_batches_with_arrow_payloads(implementation, make, tmp_path):
    engine = make(last(2500))
    rows = 3000
    columns = {"text": ["ramen"] * rows, "x": [1.0] * rows, "y": [1.0] * rows, "time": range(rows)}
    columns |= {"id": [None, "b"] * (rows // 2), "payload": pa.array([{"n": i} for i in range(rows)])}
    engine.publish_many(pa.table(columns))
    engine.publish("ramen", at=(1, 1), payload={"n": rows}, time=rows)
    engine.snapshot(tmp_path / "large")
    restored = implementation.restore(tmp_path / "large")
    changes = restored.subscribe("a", "ramen", at=(1, 1), k=3)
    assert changes == engine.subscribe("a", "ramen", at=(1, 1), k=3)
    assert restored.top("a") == engine.top("a")
    assert [(entry.id, entry.payload) for entry in restored.top("a")][:2] == [(None, {"n": 3000}), ("b", {"n": 2999})]


def test_a_payload_that_cannot_be_written_is_named(make, tmp_path):
    engine = make(last(3))
    for payload in (object(), None, object(), None):
        engine.publish("ramen", at=(1, 1), payload=payload)
    with pytest.raises(InvalidInput, match="payload: of message 2 cannot be written") as caught:
        engine.snapshot(tmp_path / "refused")
    assert caught.value.field == "payload"
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_refused(implementation, make, tmp_path, seed):
    engine = make()
    engine.subscribe("a", "ramen", at=(1, 1))
    engine.publish("ramen", at=(1, 1))
    path = tmp_path / "snapshot"
    engine.snapshot(path)
    whole = path.read_bytes()
    rng = random.Random(seed)
    for _ in range(30):
        at = rng.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :])
        with pytest.raises(DamagedSnapshot):
            implementation.restore(path)
    for damaged in (whole[: rng.randrange(len(whole))], b"", whole + b"\0", b"not a snapshot at all"):
        path.write_bytes(damaged)
        with pytest.raises(DamagedSnapshot):
            implementation.restore(path)


def test_another_version_or_another_engine_is_refused(implementation, make, tmp_path, monkeypatch):
    path = tmp_path / "snapshot"
    make().snapshot(path)
    for other in IMPLEMENTATIONS:
        if other.kind != implementation.kind:
            with pytest.raises(DamagedSnapshot, match="kind"):
                other.restore(path)
    monkeypatch.setattr(implementation, "version", implementation.version + 1)
    with pytest.raises(DamagedSnapshot, match="version"):
        implementation.restore(path)


def test_a_file_that_is_not_there(implementation, tmp_path):
    with pytest.raises(FileNotFoundError):
        implementation.restore(tmp_path / "nowhere")
