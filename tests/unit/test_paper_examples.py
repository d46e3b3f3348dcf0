"""Every worked example of the paper's sections 1 to 6, with its numbers.

The tables of the figures are not in the paper's source, so words, weights and places are chosen here to agree with
every number that the text gives (weights are not of unit length there, either). It cuts digits off: 0.265 is printed as
0.26, 0.65625 as 0.65.
"""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path

import numpy as np
import pytest

from nearcast import bounds as b
from nearcast.engine import Engine
from nearcast.model import Change, last
from nearcast.reference import ReferenceEngine
from nearcast.space import plane

MAX_DIST = 1.6


def vector(**words: float) -> b.Vector:
    """w1 is the rarest word, so it has the highest id."""
    terms = np.array([100 - int(word[1:]) for word in words], np.uint32)
    return terms, np.array(list(words.values()))


def words(own: b.Vector, length: int) -> set[str]:
    """The prefix of that length."""
    return {f"w{100 - term}" for term in own[0][:length].tolist()}


def common(prefix: set[str], other: b.Vector) -> set[str]:
    return prefix & words(other, len(other[0]))


def cut(number: float) -> float:
    """Two digits, the others cut off."""
    return math.floor(number * 100 + 1e-9) / 100


# Section 5.1, Figure 'Example of location-aware prefix'
S1, THETA1, ALPHA1 = vector(w1=0.5, w2=0.3, w3=0.2, w4=0.1), 0.7, 0.6
S2, THETA2, ALPHA2 = vector(w1=0.9, w2=0.5, w5=0.2), 0.6, 0.5
S3 = vector(w1=0.5, w2=0.4, w3=0.3, w5=0.1)
M1 = vector(w4=0.6)
M2 = vector(w2=0.4, w3=0.3, w5=0.2)
M3 = vector(w2=0.7, w3=0.3, w4=0.2)


def test_location_aware_prefix() -> None:
    """Example 2: λ_T = 0.28, the prefix is {w1, w2, w3}, m1 has none of these."""
    least = b.text_threshold(THETA1, ALPHA1, 0.98)
    assert least == pytest.approx(0.28)
    prefix = words(S1, b.location_prefix(S1[1], least))
    assert prefix == {"w1", "w2", "w3"}
    assert not common(prefix, M1)


def test_prefix_by_the_weight_sum_of_a_word() -> None:
    """Example 3, Lemma 3: m1 has only w4, and wtsum(s1.w4) = 0.1 is less than 0.28."""
    assert words(M1, 1) == {"w4"}
    assert b.wtsum(S1[1])[3] == pytest.approx(0.1)
    assert b.wtsum(S1[1])[3] < b.text_threshold(THETA1, ALPHA1, 0.98)


def test_max_weight_refinement() -> None:
    """Example 4: λ_T = 0.26, m2 meets the prefix {w1, w2, w3}, but not the refined one, {w1}."""
    least = b.text_threshold(THETA1, ALPHA1, 0.99)
    assert cut(least) == 0.26
    prefix = words(S1, b.location_prefix(S1[1], least))
    refined = words(S1, b.refined_prefix(S1, M2, least))
    assert (prefix, refined) == ({"w1", "w2", "w3"}, {"w1"})
    assert common(prefix, M2)
    assert not common(refined, M2)


def test_spatial_bounds() -> None:
    """s2 is 0.25 from the border of its cell c1, m2 is 0.3 from c1: bounds 0.84, 0.81 and, combined, 0.65."""
    assert cut(b.inner_bound(MAX_DIST, 0.25)) == 0.84
    assert cut(b.outer_bound(MAX_DIST, 0.3)) == 0.81
    assert cut(b.combined_bound(MAX_DIST, 0.25, 0.3)) == 0.65


@pytest.mark.parametrize(
    ("ssim_ub", "printed", "refined"),
    [(1.0, 0.20, {"w1", "w2"}), (0.65, 0.55, {"w1"}), (b.combined_bound(MAX_DIST, 0.25, 0.3), 0.54, {"w1"})],
)
def test_the_combined_bound_skips_s2(ssim_ub: float, printed: float, refined: set[str]) -> None:
    """Example 5: with SSimUB = 1, λ_T = 0.20 and s2 stays; with 0.65, λ_T = 0.55 and s2 is skipped.

    The paper computes on with 0.65; the bound itself, 0.65625, gives 0.54 and the same prefix.
    """
    least = b.text_threshold(THETA2, ALPHA2, ssim_ub)
    assert cut(least) == printed
    prefix = words(S2, b.refined_prefix(S2, M2, least))
    assert prefix == refined
    assert bool(common(prefix, M2)) == (ssim_ub == 1.0)


def test_the_bound_for_unseen_keywords_skips_s3() -> None:
    """Example 6: w2, the first word of m3, is in the prefix {w1, w2} of s3, but 0.28 + 0.12 < 0.48."""
    least = 0.48
    prefix = words(S3, b.refined_prefix(S3, M3, least))
    assert prefix == {"w1", "w2"}
    assert words(M3, 1) == common(prefix, M3) == {"w2"}
    seen = S3[1][1] * M3[1][0]
    assert seen == pytest.approx(0.4 * 0.7)
    assert b.wtsum(S3[1])[2] * b.maxwt(M3[1])[1] == pytest.approx(0.4 * 0.3)
    assert b.wtsum(M3[1])[1] * b.maxwt(S3[1])[2] == pytest.approx(0.5 * 0.3)
    unseen = b.unseen_bound(S3[1], 2, M3[1], 1)
    assert unseen == pytest.approx(0.12)
    assert seen + unseen < least


@pytest.mark.parametrize("make", [Engine, ReferenceEngine])
def test_e_coupons(make) -> None:
    """Example 1: three users want the best of the four newest coupons; e5 arrives and e1 expires.

    u1's answer e1 expires, so it is e3 now; e5 is the best for u3; u2's answer stays.
    """
    engine = make(last(4), plane(0, 0, 10, 10))
    engine.subscribe("u1", {"pizza": 1, "pasta": 1}, at=(2, 2), k=1)
    engine.subscribe("u2", {"sushi": 1}, at=(8, 2), k=1)
    engine.subscribe("u3", {"burger": 1, "fries": 1}, at=(5, 8), k=1)
    coupons = [
        ("e1", {"pizza": 1, "pasta": 1}, (2, 3)),
        ("e2", {"sushi": 1}, (8, 3)),
        ("e3", {"pizza": 1, "burger": 1}, (3, 4)),
        ("e4", {"fries": 1, "sushi": 1}, (7, 6)),
    ]
    for time, (name, text, at) in enumerate(coupons):
        engine.publish(text, at=at, time=time, id=name)
    assert best(engine) == ["e1", "e2", "e4"]
    changes = engine.publish({"burger": 1, "fries": 1}, at=(5, 7), time=4, id="e5")
    assert best(engine) == ["e3", "e2", "e5"]
    assert [(c.subscription, c.kind, c.message, c.cause) for c in changes] == [
        ("u1", "left", 0, "expired"),
        ("u1", "entered", 2, "refilled"),
        ("u3", "left", 3, "displaced"),
        ("u3", "entered", 4, "arrived"),
    ]
    assert all(isinstance(change, Change) and change.rank == 1 and change.seq == 4 for change in changes)
    assert engine.window_size == 4


def best(engine: Engine | ReferenceEngine) -> list[str | None]:
    """The top-1 answer of each user."""
    return [engine.top(user)[0].id for user in ("u1", "u2", "u3")]


def defined_in(file: Path) -> set[str]:
    """Names of a module: functions, classes, methods, and what is assigned at its top."""
    tree = ast.parse(file.read_text())
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return names | {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def test_the_paper_map_names_what_exists() -> None:
    """Every `file.py:name` of docs/paper-map.md is there, and everything that the paper numbers is on it."""
    root = Path(__file__).parents[2]
    text = (root / "docs" / "paper-map.md").read_text()
    named = re.findall(r"`([\w/]+\.py)(?::(\w+))?`", text)
    assert len(named) > 100
    for file, name in named:
        places = [root / "tests" / file, root / "src" / "nearcast" / file]
        found = [place for place in places if place.exists()]
        assert found, f"{file} does not exist"
        assert not name or name in defined_in(found[0]), f"{file} has no {name}"
    numbers = {"Definition": 11, "Lemma": 6, "Theorem": 6, "Equation": 13, "Example": 6, "Algorithm": 2}
    rows = " ".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| "))
    for kind, count in numbers.items():
        missing = {i for i in range(1, count + 1) if not re.search(rf"\b{kind} {i}\b", rows)}
        assert not missing, (kind, missing)
