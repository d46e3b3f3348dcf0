"""What is refused before anything is encoded."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from nearcast.errors import InvalidInput
from nearcast.text import MAX_TEXT, check_text, text_problem

pytestmark = pytest.mark.lanes


@pytest.mark.parametrize(
    "value",
    [
        "",
        "ramen 🍜 東京",
        "x" * MAX_TEXT,
        [],
        ["ramen", "the"],
        ("ramen",),
        {},
        {"ramen": 1, "udon": 0.5, "soba": np.float32(2), "mi": np.int64(3), "pho": Fraction(1, 3), "x": 5e-324},
    ],
)
def test_taken(value: object) -> None:
    assert text_problem(value) is None
    check_text(value)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "NoneType"),
        (7, "int"),
        (b"ramen", "bytes"),
        ({"ramen"}, "set"),
        ("x" * (MAX_TEXT + 1), "1000001"),
        ("ramen \ud800", "surrogate at character 6"),
        (["ramen", None], "None"),
        (["ramen", "\udfff"], "surrogate"),
        (["ramen", " \u200d"], "no visible character"),
        (["x" * 600_000, "y" * 600_000], "1200000"),
        ({1: 1.0}, "a keyword is a string"),
        ({"": 1.0}, "no visible character"),
        ({"ramen": 0}, "'ramen'"),
        ({"ramen": -1.0}, "-1.0"),
        ({"ramen": float("nan")}, "nan"),
        ({"ramen": float("inf")}, "inf"),
        ({"ramen": 10**400}, "finite"),
        ({"ramen": Fraction(1, 10**400)}, "above 0"),
        ({"ramen": "1"}, "'1'"),
        ({"ramen": None}, "None"),
        ({"ramen": True}, "True"),
        ({"ramen": Decimal(1)}, "Decimal"),
        ({"ramen": 1j}, "1j"),
    ],
)
def test_refused_by_name(value: object, says: str) -> None:
    with pytest.raises(InvalidInput, match="keywords") as caught:
        check_text(value, "keywords")
    assert caught.value.field == "keywords"
    assert says in caught.value.problem and len(caught.value.problem) < 300
    assert text_problem(value) == caught.value.problem
