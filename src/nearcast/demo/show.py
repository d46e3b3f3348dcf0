"""Run the demo: take the stream's messages in, one by one, and show what they change."""

from __future__ import annotations

import signal
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

import numpy as np
from rich.console import Console
from rich.live import Live

import nearcast as nc
from nearcast.demo.lists import WINDOW_S, WISHES, Shown, start_engine
from nearcast.demo.places import CREDIT
from nearcast.demo.screen import Landed, Numbers, Screen
from nearcast.demo.stream import Post, stream

RATE = 20.0
FRAMES_PER_S = 12
RECENT = 2000


class Demo:
    """The engine, the lists that are shown, and the numbers."""

    def __init__(self, seed: int) -> None:
        self.engine = start_engine(seed)
        self.lists = {wish.id: Shown(wish) for wish in WISHES}
        self.landed: deque[Landed] = deque(maxlen=100)
        self.latencies: deque[int] = deque(maxlen=RECENT)
        self.messages = self.changes = 0
        self.started = time.perf_counter()

    def publish(self, post: Post) -> list[nc.Change]:
        """Take a message; returns the changes of the lists that are shown."""
        before = time.perf_counter_ns()
        changes = self.engine.publish(post.text, at=(post.lon, post.lat), time=post.time, payload=post)
        self.latencies.append(time.perf_counter_ns() - before)
        self.messages += 1
        entered = [change.subscription for change in changes if change.message == change.seq]
        self.landed.append(Landed(post, tuple(id for id in entered if id in self.lists), len(entered)))
        return self.note(changes, post.time)

    def advance(self, now: int) -> None:
        """Let time pass without a message."""
        self.note(self.engine.advance(now), now)

    def note(self, changes: list[nc.Change], now: int) -> list[nc.Change]:
        """Bring the shown lists up to date."""
        self.changes += len(changes)
        ours = [change for change in changes if change.subscription in self.lists]
        for id in {change.subscription for change in ours}:
            self.lists[id].update(self.engine, [change for change in ours if change.subscription == id], now)
        return ours

    def numbers(self) -> Numbers:
        """For the status line; latencies are those of the last messages."""
        median, p99 = np.percentile(self.latencies, (50, 99)) / 1000 if self.latencies else (0.0, 0.0)
        seconds = max(1e-9, time.perf_counter() - self.started)
        counts = self.engine.window_size, self.engine.subscriptions, self.changes
        return Numbers(self.messages, self.messages / seconds, *counts, float(median), float(p99))

    def screen(self, now: int) -> Screen:
        """The frame of this moment."""
        return Screen(list(self.lists.values()), list(self.landed), now, self.numbers())

    def summary(self) -> str:
        """What has happened, in three lines."""
        n = self.numbers()
        return (
            f"{n.messages:,} messages made {n.changes:,} changes in {n.subscriptions:,} lists.\n"
            f"Publishing one took {n.median_us / 1000:.2f} ms (median), {n.p99_us / 1000:.2f} ms (p99).\n"
            f"Every message was made up ({CREDIT})."
        )


def show(messages: int | None, rate: float | None, seed: int, plain: bool) -> None:
    """The demo. A `rate` of 0 is as fast as it goes; without one, lines that end by themselves are not slowed down."""
    console = Console(highlight=False)
    plain = plain or not console.is_terminal or console.is_dumb_terminal
    if rate is None:
        rate = 0.0 if plain and messages else RATE
    posts: Iterable[Post] = stream(seed, rate or RATE)
    posts = posts if messages is None else islice(posts, messages)
    demo = Demo(seed)
    with interruptible():
        if plain:
            play_plain(demo, posts, paced=bool(rate))
        else:
            play_live(demo, posts, console, paced=bool(rate))
    if not plain:
        console.print(demo.screen(demo.engine.time or 0), height=min(console.height - 4, 30))
    print(demo.summary())


def play_live(demo: Demo, posts: Iterable[Post], console: Console, *, paced: bool) -> None:
    """On the whole terminal, which comes back as it was."""
    demo.started = start = time.perf_counter()
    next_frame = start
    with Live(console=console, screen=True, auto_refresh=False) as live:
        for post in posts:
            due = start + post.time / 1000 if paced else 0.0
            while True:
                clock = time.perf_counter()
                if clock >= next_frame:
                    now = round((clock - start) * 1000) if paced else post.time
                    demo.advance(now)
                    live.update(demo.screen(now), refresh=True)
                    next_frame = max(next_frame + 1 / FRAMES_PER_S, clock)
                if clock >= due:
                    break
                time.sleep(max(0.0, min(due, next_frame) - time.perf_counter()))
            demo.publish(post)


def play_plain(demo: Demo, posts: Iterable[Post], *, paced: bool) -> None:
    """A line for each change of the lists that are shown. Without pace the same seed gives the same lines."""
    print(f"Nearcast demo: made-up messages at real places ({CREDIT}), live for {WINDOW_S} seconds.")
    for wish in WISHES:
        print(f"  {wish.id:6} wants the best {wish.k} of: {wish.words}, near {wish.city}, alpha {wish.alpha}")
    burst = None
    demo.started = start = time.perf_counter()
    for post in posts:
        if paced:
            time.sleep(max(0.0, start + post.time / 1000 - time.perf_counter()))
        if post.burst is not burst:
            burst = post.burst
            print(f"{post.time / 1000:7.1f} s  {'*** ' + burst.headline if burst else '*** calm again'}")
        for line in described(demo, demo.publish(post)):
            print(f"{post.time / 1000:7.1f} s  {line}")
        if paced:
            sys.stdout.flush()


def described(demo: Demo, changes: list[nc.Change]) -> Iterator[str]:
    """Each change in words."""
    for change in changes:
        shown = demo.lists[change.subscription]
        verb = "+ enters at" if change.kind == "entered" else "- leaves"
        rows = [row for row in [*shown.rows, *(gone.row for gone in shown.gone)] if row.seq == change.message]
        text = f"{rows[0].post.text} ({rows[0].post.place.name}, {rows[0].km:.0f} km)"
        yield f"{change.subscription:6} {verb:11} {change.rank}  {change.score:.2f}  {change.cause:9}  {text}"


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C or a request to terminate ends the stream, and the demo finishes as after its last message."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
