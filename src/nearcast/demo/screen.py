"""What the demo looks like on a terminal, from 60 x 16 characters up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.layout import Layout
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from nearcast.demo.lists import WINDOW_S, Gone, Row, Shown
from nearcast.demo.places import CREDIT
from nearcast.demo.stream import Post

MIN_WIDTH, MIN_HEIGHT = 60, 16
FLASH_MS, GLOW_MS, GONE_MS = 700, 2500, 2500
"""How long what entered is bright, how long it is green, and how long what left is still to be seen."""
LIFE = "▁▂▃▄▅▆▇█"
PANEL_WIDTH = 38
"""The least width of a list: as many as fit stand side by side."""
TALLEST = 8
FIXED = 6
"""Lines that the lists leave: title, status and four for the messages."""


class Landed(NamedTuple):
    """A message and where it went: the shown lists that it entered, and how many lists of all."""

    post: Post
    shown: tuple[str, ...]
    lists: int


class Numbers(NamedTuple):
    """The status line."""

    messages: int
    per_second: float
    live: int
    subscriptions: int
    changes: int
    median_us: float
    p99_us: float


class Screen:
    """One frame: title, lists, messages, status."""

    def __init__(self, lists: Sequence[Shown], landed: Sequence[Landed], now: int, numbers: Numbers) -> None:
        self.lists = lists
        self.landed = landed
        self.now = now
        self.numbers = numbers

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = options.max_width, options.height or console.height
        if width < MIN_WIDTH or height < MIN_HEIGHT:
            yield Text(f"The terminal is too small: {MIN_WIDTH} x {MIN_HEIGHT} characters are needed.")
            return
        columns = min(3, width // PANEL_WIDTH)
        lines = min(-(-len(self.lists) // columns), max(1, (height - FIXED) // (TALLEST - 1)))
        tall = min(TALLEST, (height - FIXED) // lines)
        frame = Layout()
        frame.split_column(
            Layout(self.title(width), size=1),
            Layout(self.grid(columns, lines, width, tall), size=lines * tall),
            Layout(self.messages(height - lines * tall - 4, width), ratio=1),
            Layout(self.status(width), size=1),
        )
        yield from console.render(frame, options.update(height=height))

    def title(self, width: int) -> Table:
        """What this is; during a burst, its headline."""
        burst = self.landed[-1].post.burst if self.landed else None
        left = Text.assemble((" Nearcast ", "bold black on cyan"), "  made-up messages at real places")
        news = burst and Text(f" {burst.headline} ", "bold black on yellow")
        right = news or Text(CREDIT, "bright_black")
        return spread(left, right)

    def grid(self, columns: int, lines: int, width: int, tall: int) -> Table:
        """The lists side by side, as many as fit."""
        grid = Table.grid(expand=True)
        for _ in range(columns):
            grid.add_column(ratio=1)
        for line in range(lines):
            grid.add_row(*(self.panel(shown, tall) for shown in self.lists[line * columns : (line + 1) * columns]))
        return grid

    def panel(self, shown: Shown, tall: int) -> Panel:
        """One list."""
        wish = shown.wish
        table = Table.grid(expand=True, padding=(0, 1, 0, 0))
        table.add_column(width=2)
        table.add_column(width=4)
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        table.add_column(justify="right", width=6)
        table.add_column(width=1)
        inside = tall - 2
        for rank, row in enumerate(shown.rows[:inside], 1):
            self.add_row(table, rank, row)
        for gone in shown.gone[: max(0, inside - len(shown.rows))]:
            self.add_gone(table, gone)
        taste = f"[bright_black]k {wish.k}  α {wish.alpha}[/]"
        return Panel(
            table,
            title=f"[bold cyan]{wish.id}[/] [default]“{wish.words}”[/]",
            title_align="left",
            subtitle=f"[bright_black]near[/] [default]{wish.city}[/]  {taste}",
            subtitle_align="right",
            border_style="bright_black",
            box=box.ROUNDED,
            padding=(0, 0, 0, 1),
            height=tall,
        )

    def add_row(self, table: Table, rank: int, row: Row) -> None:
        """A place of a list: bright when it is new, with an arrow when it has moved."""
        age = self.now - row.entered
        style = "bold black on green" if age < FLASH_MS else "green" if age < GLOW_MS else ""
        mark = Text(" ")
        if age < GLOW_MS:
            mark = Text("●", "green")
        elif row.moved and self.now - row.moved_at < GLOW_MS:
            mark = Text("▲", "green") if row.moved > 0 else Text("▼", "yellow")
        left = 1 - (self.now - row.post.time) / (WINDOW_S * 1000)
        life = LIFE[min(len(LIFE) - 1, max(0, int(left * len(LIFE))))]
        table.add_row(
            Text.assemble((str(rank), "bold"), mark),
            Text(f"{row.score:.2f}", "cyan"),
            Text(row.post.text, style),
            Text(distance(row.km), "bright_black"),
            Text(life, "red" if left < 0.2 else "bright_black"),
        )

    def add_gone(self, table: Table, gone: Gone) -> None:
        """What has left, for a moment, and why."""
        age = self.now - gone.at
        if age < GONE_MS:
            style = "red" if age < FLASH_MS else "bright_black"
            text = Text.assemble((gone.cause, style), " ", (gone.row.post.text, f"{style} strike"))
            table.add_row("", Text("  —", style), text, "", "")

    def messages(self, inside: int, width: int) -> Panel:
        """The stream, newest at the bottom, with the lists that each message entered."""
        wide = 21 if width >= 100 else 14
        table = Table.grid(expand=True, padding=(0, 1, 0, 0))
        table.add_column(justify="right", width=6)
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        table.add_column(no_wrap=True, justify="right", width=6, style="bold cyan")
        table.add_column(no_wrap=True, justify="right", width=wide, style="bright_black")
        table.add_column(no_wrap=True, justify="right", width=9, style="bright_black")
        for post, shown, lists in self.landed[-inside:] if inside > 0 else ():
            text = Text(post.text, "green" if shown else "")
            where = Text(post.place.name)
            where.truncate(wide - 3, overflow="ellipsis")
            where.append(f" {post.place.country}")
            count = "1 list" if lists == 1 else f"{lists} lists"
            table.add_row(Text(f"{post.time / 1000:.1f}", "bright_black"), text, Text(" ".join(shown)), where, count)
        return Panel(
            table,
            title="[bold]incoming[/] [bright_black]and how many lists each entered[/]",
            title_align="left",
            subtitle=f"[green]●[/] new  [green]▲[/][yellow]▼[/] moved  [bright_black]{LIFE[::-1]} time left[/]",
            subtitle_align="right",
            border_style="bright_black",
            box=box.ROUNDED,
            padding=0,
        )

    def status(self, width: int) -> Table:
        """Rates and latencies; more of them where there is room."""
        n = self.numbers
        parts = [
            f"[bold]{n.messages:,}[/] messages",
            f"[bold]{n.per_second:.0f}[/]/s",
            f"publish [bold]{n.median_us / 1000:.2f}[/] ms, p99 [bold]{n.p99_us / 1000:.2f}[/] ms",
            f"[bold]{n.subscriptions:,}[/] lists",
            f"[bold]{n.live:,}[/] live of {WINDOW_S} s",
            f"[bold]{n.changes:,}[/] changes",
        ]
        right = Text("Ctrl-C ends", "bright_black")
        shown = Text.from_markup(" " + parts[0])
        for part in parts[1:]:
            longer = Text.assemble(shown, ("  ·  ", "bright_black"), Text.from_markup(part))
            if longer.cell_len + right.cell_len + 2 > width:
                break
            shown = longer
        return spread(shown, right)


def distance(km: float) -> str:
    """A distance in at most six characters."""
    return f"{km:.1f} km" if km < 9.95 else f"{km:.0f} km" if km < 999.5 else "far"


def spread(left: Text, right: Text) -> Table:
    """One line with something at either end."""
    line = Table.grid(expand=True)
    line.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    line.add_column(justify="right", no_wrap=True)
    line.add_row(left, right)
    return line
