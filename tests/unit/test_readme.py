"""The README's examples do what it says: Python blocks are run in order, and print what stands below them."""

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from nearcast.cli import run

README = Path(__file__).parents[2] / "README.md"


class Block(NamedTuple):
    line: int
    language: str
    text: str


def blocks(text: str) -> list[Block]:
    """All fenced blocks."""
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(text.count("\n", 0, match.start()) + 1, match[1], match[2]) for match in found]


def printed(source: Block, names: dict[str, object]) -> str:
    out = StringIO()
    with redirect_stdout(out):
        exec(compile("\n" * source.line + source.text, README.name, "exec"), names)  # noqa: S102
    return out.getvalue()


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def test_every_python_block_prints_what_stands_below_it():
    found = blocks(README.read_text())
    names: dict[str, object] = {}
    checked = 0
    for block, below in pairwise(found):
        if block.language == "python":
            assert below.language == "text", f"README.md:{block.line} has no output"
            assert trimmed(printed(block, names)) == trimmed(below.text), f"README.md:{below.line}"
            checked += 1
    assert checked >= 5


@pytest.mark.parametrize("block", [block for block in blocks(README.read_text()) if block.language == "console"])
def test_every_console_block_shows_what_the_command_prints(block, capsys):
    first, shown = block.text.split("\n", 1)
    command, _, head = first.removeprefix("$ ").partition(" | head -")
    program, *arguments = shlex.split(command)
    assert program == "nearcast"
    assert run(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert trimmed("\n".join(lines[: int(head or len(lines))])) == trimmed(shown)


def test_links_lead_to_files():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text())
    assert len(links) >= 4
    assert [link for link in links if not (README.parent / link).exists()] == []
