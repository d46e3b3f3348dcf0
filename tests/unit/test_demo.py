"""The demo: its stream, its lines, and its screen at every size."""

import io
import re
from itertools import islice

import pytest
from rich.console import Console

from nearcast import cli
from nearcast.demo import lists, screen, show
from nearcast.demo.places import AROUND_KM, CENTRES, around, rough_km, world
from nearcast.demo.stream import BURSTS, stream
from nearcast.demo.topics import TOPICS, WORDS


@pytest.fixture(autouse=True)
def small_crowd(monkeypatch):
    monkeypatch.setattr(lists, "CROWD", 50)


def test_the_stream_is_the_same_for_the_same_seed_and_another_for_another():
    first, again, other = (list(islice(stream(seed, 20.0), 300)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_stream_runs_at_its_rate_at_real_places_with_bursts():
    posts = list(islice(stream(3, 50.0), 6000))
    times = [post.time for post in posts]
    assert times == sorted(times)
    calm = sum(post.burst is None for post in posts)
    assert 0.2 < calm / len(posts) < 0.5
    assert 50 < len(posts) / (times[-1] / 1000) < 100
    assert {post.burst for post in posts} >= set(BURSTS)
    known = set(world())
    assert all(post.place in known and rough_km(*post.place[2:], post.lon, post.lat) < 10 for post in posts)
    storm = [post for post in posts if post.burst and post.burst.topic == "storm"]
    near = [post for post in storm if rough_km(*CENTRES["Manila"], post.lon, post.lat) < AROUND_KM + 10]
    assert len(near) > len(storm) / 2


def test_every_sentence_can_be_filled_and_every_city_has_quarters():
    for topic in TOPICS.values():
        for text in topic.sentences:
            assert set(re.findall(r"{(\w+)}", text)) <= {*WORDS, "place"}
    assert all(len(around(city)) > 20 for city in CENTRES)


def test_what_is_shown_is_what_the_engine_says():
    demo = show.Demo(seed=4)
    for post in islice(stream(4, 20.0), 600):
        demo.publish(post)
        for shown in demo.lists.values():
            assert [(row.seq, row.score) for row in shown.rows] == [
                (ranked.seq, ranked.score) for ranked in demo.engine.top(shown.wish.id)
            ]
    causes = {gone.cause for shown in demo.lists.values() for gone in shown.gone}
    assert causes <= {"displaced", "expired"} and causes
    assert any(row.moved for shown in demo.lists.values() for row in shown.rows)
    demo.advance(10**7)
    assert all(not shown.rows for shown in demo.lists.values())


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (100, 30), (120, 40), (200, 60), (79, 23)])
def test_the_screen_fills_the_terminal_exactly(size):
    width, height = size
    demo = show.Demo(seed=5)
    for post in islice(stream(5, 20.0), 400):
        demo.publish(post)
    console = Console(width=width, height=height, file=io.StringIO(), color_system=None, legacy_windows=False)
    console.print(demo.screen(demo.engine.time), height=height, end="")
    text = console.file.getvalue()
    lines = text.rstrip("\n").split("\n")
    assert len(lines) == height
    assert max(map(len, lines)) <= width
    assert "made-up" in lines[0] and "400 messages" in lines[-1]
    wish = lists.WISHES[0]
    assert wish.words in text and wish.city in text
    for shown in demo.lists.values():
        assert width < 114 or shown.wish.words in text


def test_a_tiny_terminal_is_told_so():
    console = Console(width=40, height=10, file=io.StringIO())
    console.print(show.Demo(seed=1).screen(0), height=10)
    assert f"{screen.MIN_WIDTH} x {screen.MIN_HEIGHT}" in console.file.getvalue()


def test_plain_lines_are_repeatable_and_end_by_themselves(capsys):
    outputs = []
    for _ in range(2):
        assert cli.run(["demo", "--plain", "--messages", "250", "--seed", "9"]) == 0
        outputs.append(capsys.readouterr().out)
    first, second = (output.splitlines() for output in outputs)
    assert first[:-2] == second[:-2] and len(first) > 50
    assert "made-up" in first[0] and "GeoNames, CC BY 4.0" in first[0]
    assert first[-3].startswith("250 messages made ")
    assert any("*** A storm" in line for line in first)
    assert "made up" in first[-1]


def test_the_lines_replay_to_the_lists(capsys):
    """Each line is a change: played back, they give the lists that the engine has at the end."""
    cli.run(["demo", "--plain", "--messages", "800", "--seed", "11"])
    played: dict[str, list[str]] = {wish.id: [] for wish in lists.WISHES}
    for line in capsys.readouterr().out.splitlines():
        match = re.fullmatch(r" *[\d.]+ s  (\w+) +([+-]) (?:enters at|leaves) +(\d+)  ([\d.]+)  \w+ +(.*)", line)
        if match:
            ranks, what = played[match[1]], (match[4], match[5])
            if match[2] == "+":
                ranks.insert(int(match[3]) - 1, what)
            else:
                ranks.remove(what)
    demo = show.Demo(seed=11)
    for post in islice(stream(11, show.RATE), 800):
        demo.publish(post)
    for id, shown in demo.lists.items():
        rows = [(f"{row.score:.2f}", f"{row.post.text} ({row.post.place.name}, {row.km:.0f} km)") for row in shown.rows]
        assert played[id] == rows


def test_ctrl_c_ends_with_the_summary(monkeypatch, capsys):
    def interrupted(seed: int, rate: float):
        yield from islice(stream(seed, rate), 30)
        raise KeyboardInterrupt

    monkeypatch.setattr(show, "stream", interrupted)
    assert cli.run(["demo", "--plain", "--rate", "0"]) == 0
    assert "30 messages made" in capsys.readouterr().out


def test_the_live_screen_comes_and_goes(monkeypatch):
    """On a (recorded) terminal: the other screen is entered and left, the summary stays."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, height=24)
    demo = show.Demo(seed=1)
    show.play_live(demo, islice(stream(1, 20.0), 200), console, paced=False)
    out = file.getvalue()
    assert out.index("\x1b[?1049h") < out.index("made-up") < out.index("\x1b[?1049l")
    assert demo.summary().startswith("200 messages")
