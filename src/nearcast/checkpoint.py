"""All of an engine's state in one snapshot file: the parts, each by its name, and the settings to make it anew."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import pyarrow as pa

from nearcast import snapshot, space
from nearcast.model import Last, Window, Within
from nearcast.snapshot import Contents
from nearcast.text import Vocabulary

METADATA = "metadata"


def write(
    path: str | PathLike[str], kind: str, version: int, settings: Mapping[str, Any], parts: Mapping[str, Contents]
) -> None:
    """Write the parts; `settings` and each part's `meta` are of JSON's types."""
    snapshot.write(
        path,
        kind,
        version,
        {"settings": dict(settings), "parts": {name: part.meta for name, part in parts.items()}},
        {f"{name}/{key}": array for name, part in parts.items() for key, array in part.arrays.items()},
        {f"{name}/{key}": table for name, part in parts.items() for key, table in part.tables.items()},
    )


def read(path: str | PathLike[str], kind: str, version: int) -> tuple[dict[str, Any], dict[str, Contents]]:
    """The settings and the parts that `write` wrote."""
    whole = snapshot.read(path, kind, version)
    parts = {name: Contents(meta, {}, {}) for name, meta in whole.meta["parts"].items()}
    for name, array in whole.arrays.items():
        part, key = name.split("/", 1)
        parts[part].arrays[key] = array
    for name, table in whole.tables.items():
        part, key = name.split("/", 1)
        parts[part].tables[key] = table
    return whole.meta["settings"], parts


def save_vocabulary(vocabulary: Vocabulary) -> Contents:
    """A vocabulary as a part. The container keeps no metadata of tables, so that becomes `meta`."""
    words = vocabulary.to_arrow()
    metadata = {key.decode(): value.decode() for key, value in words.schema.metadata.items()}
    return Contents({METADATA: metadata}, {}, {"words": words})


def load_vocabulary(saved: Contents) -> Vocabulary:
    """The vocabulary that `save_vocabulary` wrote."""
    words: pa.Table = saved.tables["words"]
    return Vocabulary.from_arrow(words.replace_schema_metadata(saved.meta[METADATA]))


def save_setting(window: Window, place: space.Space) -> dict[str, Any]:
    """Window and space as JSON."""
    size = {"last": window.count} if isinstance(window, Last) else {"within": window.duration_ms}
    return {"window": size, "space": place.to_json()}


def load_setting(saved: Mapping[str, Any]) -> tuple[Window, space.Space]:
    """The window and the space that `save_setting` wrote."""
    window = saved["window"]
    size = Last(window["last"]) if "last" in window else Within(window["within"])
    return size, space.from_json(saved["space"])
