"""ARCHITECTURE.md and the decisions name only what exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "nearcast"
PAGES = [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]


def defined_in(file: Path) -> set[str]:
    """Functions, classes, methods, and what is assigned at the top of a module."""
    tree = ast.parse(file.read_text())
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return names | {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def named_on(page: Path) -> list[tuple[str, list[str]]]:
    """Files and what is said to be in them: `file.py:name` in the text, file.py: name · name in the picture."""
    text = page.read_text()
    quoted = [(file, [name] if name else []) for file, name in re.findall(r"`([\w/]+\.py)(?::(\w+))?`", text)]
    drawn = re.findall(r"([\w/]+\.py): (\w+(?:(?:, | · )\w+\b(?![./]))*)", text)
    return quoted + [(file, re.split(", | · ", names)) for file, names in drawn]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_exist(page: Path) -> None:
    for file, names in named_on(page):
        found = [place for place in (SOURCE / file, ROOT / file) if place.exists()]
        assert found, f"{file} does not exist"
        missing = set(names) - defined_in(found[0])
        assert not missing, f"{file} has no {missing}"


def test_the_picture_is_read() -> None:
    """The check above sees the picture: its first and its last step, and the way back."""
    named = named_on(PAGES[0])
    assert ("frontend.py", ["publish", "publish_many"]) in named
    assert ("changes.py", ["as_changes", "as_table"]) in named
    assert named.count(("kernels/postings.py", ["set_threshold"])) == 2


def test_decisions_are_numbered() -> None:
    """0001, 0002, … without a gap, each with its title."""
    for number, page in enumerate(PAGES[1:], 1):
        assert re.fullmatch(rf"{number:04d}-[a-z0-9-]+", page.stem), page.name
        assert page.read_text().startswith(f"# {number}. "), page.name
