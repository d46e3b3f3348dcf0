"""The layers of pyproject.toml hold, and the contract would notice if they did not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nearcast.errors

SOURCE = Path(nearcast.errors.__file__).parent
CONFIG = SOURCE.parent.parent / "pyproject.toml"


def lint_imports(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the contract on a package in that folder."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    return subprocess.run(
        [*command, "--no-cache", "--config", str(CONFIG)],
        cwd=folder,
        env=dict(os.environ, PYTHONPATH=str(source)),
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_layers_hold(tmp_path):
    done = lint_imports(SOURCE.parent, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("kernels/score.py", "import nearcast.errors", "nearcast.kernels.score -> nearcast.errors"),
        ("model.py", "from nearcast.engine import Engine", "nearcast.model -> nearcast.engine"),
        ("stray.py", "", "stray"),
    ],
)
def test_the_contract_notices(tmp_path, module, line, complaint):
    """An import upwards, and a module without a layer."""
    copy = tmp_path / "nearcast"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "engine.py").touch()
    with (copy / module).open("a") as file:
        file.write(f"\n{line}\n")
    done = lint_imports(tmp_path, tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert complaint in done.stdout + done.stderr


def test_importing_the_kernels_imports_nothing_of_ours_but_kernels():
    """Also at run time, where an import inside a function would show."""
    program = (
        "import sys, importlib, pkgutil\n"
        "import nearcast\n"
        "for name in [name for name in sys.modules if name.startswith('nearcast.')]: del sys.modules[name]\n"
        "import nearcast.kernels as kernels\n"
        "for m in pkgutil.walk_packages(kernels.__path__, 'nearcast.kernels.'): importlib.import_module(m.name)\n"
        "print(*sorted(name for name in sys.modules if name.startswith('nearcast.')))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [name for name in done.stdout.split() if not name.startswith("nearcast.kernels")] == []


def test_every_folder_with_modules_is_a_package():
    """Without an `__init__.py` a folder works in this tree, but is left out of what is installed."""
    folders = {path.parent for path in SOURCE.rglob("*.py")}
    assert sorted(str(folder) for folder in folders if not (folder / "__init__.py").exists()) == []
