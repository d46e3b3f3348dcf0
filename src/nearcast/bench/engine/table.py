"""Results of `nearcast bench engine` side by side, as Markdown, from their files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nearcast.errors import InvalidInput

Numbers = dict[str, Any]

COLUMNS = {
    "run": lambda n: n["name"],
    "messages/s": lambda n: f"{n['messages_per_s']:,.0f}",
    "work, µs": lambda n: f"{n['work_us']:.1f}",
    "floor, µs": lambda n: f"{n['floor_us']:.1f}" if "floor_us" in n else "",
    "ratio": lambda n: f"{n['ratio']:.2f}" if "ratio" in n else "",
    "publish p50, p99, µs": lambda n: f"{n['publish_us']['p50']:.0f}, {n['publish_us']['p99']:.0f}",
    "affected": lambda n: f"{n['affected']:.1f}",
    "verified": lambda n: f"{n['verified']:.1f}",
    "postings": lambda n: f"{n['postings_seen']:,.0f}",
    "refills": lambda n: f"{n['refills']:.3g}",
    "buffer": lambda n: f"{n['buffer_mean']:.1f}",
    "registered in, s": lambda n: f"{n['register_s']:.0f}",
    "bytes a subscription": lambda n: f"{n['bytes_per_subscription']:,.0f}",
    "wrong of checked": lambda n: f"{n['wrong_lists']} of {n['checked_lists']}",
}
"""A column a figure, for one message where nothing else is said; docs/benchmarks.md says what each means."""


def read(folder: Path) -> list[Numbers]:
    """All results in a folder, by name."""
    results = [json.loads(path.read_text()) | {"name": path.stem} for path in sorted(folder.glob("*.json"))]
    if not results:
        raise InvalidInput("folder", f"{folder} holds no result; make one with `nearcast bench engine --json`")
    return results


def table(results: list[Numbers]) -> str:
    """The page: the figures, then what each run was and where."""
    lines = ["# Results of `nearcast bench engine`", "", "Made by `nearcast bench table` from the files beside it.", ""]
    lines += ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    lines += ["| " + " | ".join(show(n) for show in COLUMNS.values()) + " |" for n in results]
    lines += ["", "## How each was made", ""]
    for n in results:
        where = n["environment"]
        machine = f"{where['cpu']}, {where['cores']} cores, {where['memory_bytes'] / 2**30:.0f} GiB"
        versions = f"commit {where['commit']}, Python {where['python']}, Numba {where['numba']}"
        loads = f"{where['load_before'][0]:.1f} before, {where['load_after'][0]:.1f} after"
        lines.append(f"- **{n['name']}**: `{where['command']}`; {machine}; {versions}; load of the machine: {loads}")
    return "\n".join(lines) + "\n"
