"""Issue 2, 'Bad input': a clear error that names the field, and an engine that looks as if nothing had happened."""

import numpy as np
import pytest

from nearcast.errors import DuplicateSubscription, InvalidInput, NearcastError, UnknownMessage, UnknownSubscription
from nearcast.model import MAX_K, last, within
from nearcast.space import earth, plane
from support.state import state

NAN, INF = float("nan"), float("inf")
HALF = "half a pair \ud800"


@pytest.fixture
def engine(make):
    engine = make(within(milliseconds=100))
    engine.subscribe("a", "vegan ramen", at=(1, 1), k=2)
    for time in (0, 50, 90):
        engine.publish("ramen tonight", at=(1, 2), time=time)
    return engine


def refused(engine, error, field, call):
    """The call raises, names the field, and leaves no trace."""
    before = state(engine)
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, NearcastError)
    if field:
        assert caught.value.field == field
        assert str(caught.value).startswith(f"{field}: ")
    assert state(engine) == before


@pytest.mark.parametrize(
    ("field", "change"),
    [
        *(("id", {"id": id}) for id in ("", "x" * 257, None, 7, b"a", HALF)),
        *(("k", {"k": k}) for k in (0, -1, MAX_K + 1, 2.0, "2", None, True, NAN, 10**30)),
        *(("alpha", {"alpha": alpha}) for alpha in (-0.001, 1.001, NAN, INF, "0.5", None, True)),
        *(("at", {"at": at}) for at in (None, 7, (1,), (1, 2, 3), "", (10**400, 1))),
        *(("x", {"at": (x, 1)}) for x in (NAN, INF, -0.001, 3.001, None, "1", True)),
        *(("y", {"at": (1, y)}) for y in (NAN, -INF, -0.001, 4.001, 1j)),
        *(("text", {"text": text}) for text in ("", " ,;! ", "the of and", {}, [], None, 7, b"ramen", HALF)),
        *(
            ("text", {"text": text})
            for text in ({"new": 0}, {"new": -1}, {"new": NAN}, {"new": "1"}, {7: 1.0}, ["n", None])
        ),
        ("text", {"text": "x" * 1_000_001}),
        ("text", {"text": " ".join(f"new{i}" for i in range(65))}),
    ],
    ids=lambda value: f"{value!r:.40}",
)
def test_a_subscription_that_cannot_be_taken(engine, field, change):
    good = {"id": "b", "text": "news1 news2", "at": (1, 1), "k": 5, "alpha": 0.5} | change
    refused(engine, InvalidInput, field, lambda: engine.subscribe(good.pop("id"), good.pop("text"), **good))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        *(("id", {"id": id}) for id in ("", "x" * 257, 7, b"a", HALF)),
        *(("at", {"at": at}) for at in (None, (1,), "xyz")),
        *(("x", {"at": (x, 1)}) for x in (NAN, INF, 3.001, None, np.datetime64(1, "s"))),
        *(("y", {"at": (1, y)}) for y in (NAN, -INF, -0.001, "1")),
        *(("time", {"time": time}) for time in (2**53 + 1, -(2**53) - 1, 1.5, NAN, "now", True)),
        *(("text", {"text": text}) for text in (None, 7, b"ramen", HALF, {"new": NAN}, ["n", 3])),
        ("text", {"text": "x" * 1_000_001}),
        ("text", {"text": " ".join(f"new{i}" for i in range(4097))}),
    ],
    ids=lambda value: f"{value!r:.40}",
)
def test_a_message_that_cannot_be_taken(engine, field, change):
    good = {"text": "news1 ramen", "at": (1, 1), "time": 95} | change
    refused(engine, InvalidInput, field, lambda: engine.publish(good.pop("text"), **good))


def test_a_known_id(engine):
    refused(engine, DuplicateSubscription, "id", lambda: engine.subscribe("a", "news1", at=(1, 1)))


@pytest.mark.parametrize("id", ["b", "", 7, None, ["a"]])
def test_an_unknown_id(engine, id):
    for call in (engine.unsubscribe, engine.top, engine.subscription, lambda id: engine.explain(id, 1)):
        refused(engine, UnknownSubscription, None, lambda call=call: call(id))


@pytest.mark.parametrize("seq", [-1, 3, 10**30, "1", None, 1.0])
def test_an_unknown_message(engine, seq):
    refused(engine, UnknownMessage, None, lambda: engine.explain("a", seq))


def test_a_message_that_has_expired(engine):
    engine.advance(100)
    refused(engine, UnknownMessage, None, lambda: engine.explain("a", 0))


@pytest.mark.parametrize("time", ["now", 1.5, 2**53 + 1, True])
def test_a_time_to_advance_to_that_is_none(engine, time):
    refused(engine, InvalidInput, "time", lambda: engine.advance(time))


def test_an_id_is_free_again_after_unsubscribing(engine):
    engine.unsubscribe("a")
    refused(engine, UnknownSubscription, None, lambda: engine.unsubscribe("a"))
    assert [change.subscription for change in engine.subscribe("a", "ramen", at=(1, 1), k=1)] == ["a"]


def test_on_earth_the_field_is_named_and_the_borders_are_taken(make):
    engine = make(last(5), earth(max_km=50))
    for lon, lat in ((180, 90), (-180, -90)):
        engine.publish("ramen", at=(lon, lat))
    for field, at in (("x", (180.001, 0)), ("x", (-NAN, 0)), ("y", (0, 90.001)), ("y", (0, -INF))):
        refused(engine, InvalidInput, field, lambda at=at: engine.publish("ramen", at=at))


def test_the_longest_text_is_taken(engine):
    engine.publish("ramen " + "x" * 999_994, at=(1, 1), time=90)
    assert engine.explain("a", 3).words[0].word == "ramen"


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("window", (5, plane(0, 0, 1, 1))),
        ("window", (None, plane(0, 0, 1, 1))),
        ("space", (last(5), None)),
        ("space", (last(5), last(5))),
        ("vocabulary", (last(5), plane(0, 0, 1, 1), ["ramen"])),
    ],
    ids=str,
)
def test_settings_of_the_wrong_kind(implementation, field, arguments):
    with pytest.raises(InvalidInput) as caught:
        implementation(*arguments)
    assert caught.value.field == field
