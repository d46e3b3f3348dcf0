"""The rules for single values; whole operations are in the contract tests."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from nearcast import intake
from nearcast.errors import InvalidInput
from nearcast.model import MAX_K
from nearcast.space import earth, plane
from nearcast.text import Vocabulary


@pytest.mark.parametrize("id", ["a", "x" * 256, "é", "漢字", "a b", "\U0001f35c"])
def test_good_ids(id):
    assert intake.id_problem(id) is None


@pytest.mark.parametrize("id", ["", "x" * 257, None, 5, b"a", "a\ud800", "\udfffé"])
def test_bad_ids(id):
    assert intake.id_problem(id)


def test_numbers_of_numpy_are_numbers():
    assert intake.check_k(np.int16(7)) == 7
    assert type(intake.check_k(np.int64(MAX_K))) is int
    assert intake.check_alpha(np.float32(0.25)) == 0.25
    assert intake.check_alpha(1) == 1.0
    assert intake.check_place(plane(0, 0, 9, 9), np.array([1, 2])) == (1.0, 2.0)
    assert intake.check_place(plane(0, 0, 9, 9), [np.float32(0.5), 2]) == (0.5, 2.0)
    assert intake.check_time(np.int64(5)) == 5


def test_truth_values_are_not_numbers():
    for check in (intake.check_k, intake.check_alpha, intake.check_time):
        for value in (True, np.True_):
            with pytest.raises(InvalidInput):
                check(value)
    with pytest.raises(InvalidInput):
        intake.check_place(plane(0, 0, 9, 9), (True, 0))


@pytest.mark.parametrize(
    ("time", "milliseconds"),
    [
        (datetime(1970, 1, 1), 0),
        (datetime(1970, 1, 1, 0, 0, 0, 999), 0),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999), -1),  # floor, as for timestamps in tables
        (datetime(2024, 2, 29, 12, tzinfo=UTC), 1_709_208_000_000),
        (datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=-5))), 5 * 3_600_000),
        (-(2**53), -(2**53)),
    ],
)
def test_times(time, milliseconds):
    assert intake.check_time(time) == milliseconds
    assert type(intake.check_time(time)) is int


def test_the_wall_clock():
    assert abs(intake.check_time(None) - datetime.now(UTC).timestamp() * 1000) < 60_000


def test_a_place_names_the_coordinate_that_is_wrong():
    for at, field in (((181, 95), "x"), ((0, 95), "y"), (("1", 0), "x"), ((0, None), "y"), ((0, float("nan")), "y")):
        with pytest.raises(InvalidInput) as caught:
            intake.check_place(earth(max_km=5), at)
        assert caught.value.field == field


def test_long_values_are_shown_short():
    with pytest.raises(InvalidInput) as caught:
        intake.check_k("x" * 10_000)
    assert len(str(caught.value)) < 200


def test_a_refused_text_teaches_nothing():
    vocabulary = Vocabulary()
    for text in ("the", {}, [], " ".join(f"w{i}" for i in range(65))):
        with pytest.raises(InvalidInput):
            intake.encode_subscription(vocabulary, text)
    with pytest.raises(InvalidInput):
        intake.encode_message(vocabulary, " ".join(f"w{i}" for i in range(4097)))
    assert (len(vocabulary), vocabulary.documents) == (0, 0)
    assert len(intake.encode_message(vocabulary, "").terms) == 0
    assert vocabulary.documents == 1
