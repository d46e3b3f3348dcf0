"""The reference's own bookkeeping; that its answers are right is checked by tests/contract and tests/properties."""

import numpy as np
import pytest

from nearcast.kernels.brute import rank_all, score_parts
from nearcast.model import last
from nearcast.reference import ReferenceEngine, Table
from nearcast.space import plane
from nearcast.text import TermVectors


def vectors(*rows):
    offsets = np.cumsum([0, *map(len, rows)])
    terms = np.array([term for row in rows for term in row], np.uint32)
    return TermVectors(offsets, terms, (terms + 1).astype(np.float32))


def test_a_table_keeps_rows_in_order_through_everything(rng):
    table, model, gone = Table(), [], 0
    for step in range(400):
        draw = rng.random()
        if draw < 0.6:
            rows = [rng.integers(0, 50, rng.integers(0, 4)).tolist() for _ in range(rng.integers(1, 4))]
            points = rng.random((len(rows), 3))
            table.append(points, vectors(*rows))
            model += list(zip(points.tolist(), rows, strict=True))
        elif draw < 0.9 and model:
            count = int(rng.integers(0, min(len(model), 4) + 1))
            table.drop(count)
            del model[:count]
            gone += count
        elif model and step % 2:
            at = int(rng.integers(0, len(model)))
            table.delete(table.first + at, table.first + at + 1)
            del model[at]
        assert table.end - table.first == len(model)
        for row, (point, terms) in enumerate(model, table.first):
            assert table.points[row].tolist() == point
            assert table.vector(row)[0].tolist() == terms
            assert table.vector(row)[1].tolist() == [term + 1 for term in terms]
        if step == 200:
            saved, table = table.save(), Table()
            table.load(saved)
    assert gone > 64
    assert table.end < 2 * (len(model) + 70)


def test_settings_that_only_tune_the_engine_are_ignored():
    engine = ReferenceEngine(last(3), plane(0, 0, 1, 1), threads=8, tuning=None)
    assert engine.window == last(3)


@pytest.mark.lanes
def test_the_kernel_ranks_by_score_then_age():
    points = np.zeros((6, 3))
    points[:, 0] = [9, 2, 0, 2, 0, 9]
    message = vectors([4], [4], [4], [4], [7], [4])
    unit = np.ones(6, np.float32)
    seqs, scores, counts = np.full((1, 3), -1), np.zeros((1, 3), np.float32), np.zeros(1, np.int64)
    subscription = np.array([0, 1]), np.array([4], np.uint32), unit[:1]
    rank_all(
        0.0, 10.0, np.zeros((1, 3)), np.array([1.0], np.float32), np.array([3]), *subscription,
        points, message.offsets, message.terms, unit, 1, 101, seqs, scores, counts,
    )  # fmt: skip
    assert (seqs.tolist(), counts.tolist()) == ([[102, 103, 101]], [3])
    assert scores[0] == pytest.approx([1.0, 0.8, 0.8])


@pytest.mark.lanes
def test_the_parts_of_a_score():
    one, other = vectors([9, 4, 1]), vectors([8, 4])
    weights = np.array([0.5, 0.5, 0.5], np.float32)
    parts = score_parts(
        0.0, 5.0, np.float32(0.25), np.zeros(3), one.terms, weights, np.array([3.0, 4.0, 0.0]), other.terms, weights[:2]
    )
    assert parts == (0.0, 0.25, np.float32(0.1875))
