"""Pin every dependency with the hashes of all its files: pyproject.toml -> requirements/*.txt (`make lock`).

One file a purpose: what Nearcast runs on, and what tests, lint and this tool add to it. A shared package gets one
version. The hashes cover every platform. Run it with the oldest Python: a newer one may choose versions too new for it.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
OLDEST = (3, 11)
QUIET = ["--quiet", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "--no-emit-options"]
OPTIONS = ["--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-emit-trusted-host", *QUIET]


def lock(name: str, wanted: list[str], constraints: list[Path], extra: list[str]) -> Path:
    """Write requirements/NAME.txt: these and all that they need, in the versions that the constraints name."""
    target = ROOT / "requirements" / f"{name}.txt"
    lines = wanted + [f"-c {path}" for path in constraints]
    environment = {key: value for key, value in os.environ.items() if key not in ("PIP_FIND_LINKS", "PYTHONPATH")}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{name}.in"
        source.write_text("\n".join(lines) + "\n")
        command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, *extra, "-o", str(target), str(source)]
        subprocess.run(command, check=True, env=environment)
    pins = target.read_text()
    target.write_text(f"# Made by `make lock` from pyproject.toml: do not edit.\n{pins}")
    print(f"requirements/{name}.txt: {pins.count('==')} packages")
    return target


def main() -> None:
    """Lock all files; arguments go to pip-compile (`--upgrade` takes the newest versions, else pins are kept)."""
    if sys.version_info[:2] != OLDEST:
        sys.exit(f"error: lock with Python {OLDEST[0]}.{OLDEST[1]}, the oldest that we support: make lock PYTHON=...")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    run = lock("run", project["project"]["dependencies"] + project["build-system"]["requires"], [], sys.argv[1:])
    test = lock("test", extras["test"], [run], sys.argv[1:])
    lock("lint", extras["lint"], [run, test], sys.argv[1:])
    lock("lock", extras["lock"], [run], sys.argv[1:])


if __name__ == "__main__":
    main()
