"""Snapshots come back as they were; whatever is not one, or not whole, is refused with a reason."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nearcast import snapshot
from nearcast.errors import DamagedSnapshot, InvalidInput

KIND, VERSION = "engine", 3
META = {"name": "héllo", "count": 1 << 60, "share": 0.1, "none": None, "deep": {"list": [1, [2, "x"]], "yes": True}}
SEED = 11

ARRAYS: dict[str, np.ndarray] = {
    "f32": np.linspace(-1, 1, 7, dtype=np.float32).reshape(7, 1),
    "f64": np.array([0.0, -0.0, np.nan, np.inf, 1e-300]),
    "bool": np.array([[True, False], [False, True]]),
    "empty": np.empty((0, 3), np.int64),
    "zero-dimensional": np.array(5, np.uint32),
    "fortran": np.asfortranarray(np.arange(12, dtype=np.int16).reshape(3, 4)),
    "strided": np.arange(20, dtype=np.int32)[::-3],
    "big-endian": np.arange(3, dtype=">u8"),
    **{f"i{n}": np.array([-(1 << (8 * n - 1)), 2], f"i{n}") for n in (1, 2, 4, 8)},
    **{f"u{n}": np.array([(1 << 8 * n) - 1], f"u{n}") for n in (1, 2, 4, 8)},
}


def table() -> pa.Table:
    texts = ["", None, "vegan ramen", "ü" * 70]
    columns = {str(t): pa.array([1, None, 0, 1], pa.int8()).cast(t) for t in snapshot.FIXED}
    columns |= {str(t): pa.array(texts, t) for t in (pa.string(), pa.large_string())}
    columns |= {str(t): pa.array([b"\x00\xff", None, b"", b"x"], t) for t in (pa.binary(), pa.large_binary())}
    return pa.table(columns)


def chunked() -> pa.Table:
    """Chunks that begin in the middle of their buffers, empty ones among them."""
    t = table()
    return pa.concat_tables([t.slice(1, 2), t.slice(0, 0), t.slice(3), t])


def strict() -> pa.Table:
    return pa.table({"id": ["a", "b"]}, schema=pa.schema([pa.field("id", pa.string(), nullable=False)]))


TABLES = {"all": table(), "chunked": chunked(), "empty": table().slice(0, 0), "bare": pa.table({}), "strict": strict()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.snapshot"


def small(path: Path) -> bytes:
    arrays = {"a": np.arange(5, dtype=np.int32), "b": np.array([True])}
    snapshot.write(path, KIND, VERSION, {"n": 1}, arrays, {"t": pa.table({"id": ["x", None], "n": [1, 2]})})
    return path.read_bytes()


def refused(path: Path, data: bytes) -> str:
    """The message with which these bytes are refused."""
    path.write_bytes(data)
    with pytest.raises(DamagedSnapshot) as caught:
        snapshot.read(path, KIND, VERSION)
    assert str(caught.value).startswith(f"{path}: ") and "; " in str(caught.value)
    return str(caught.value)


def test_everything_comes_back(path: Path) -> None:
    snapshot.write(path, KIND, VERSION, META, ARRAYS, TABLES)
    meta, arrays, tables = snapshot.read(path, KIND, VERSION)
    assert meta == META
    assert list(arrays) == list(ARRAYS)
    for name, want in ARRAYS.items():
        got = arrays[name]
        assert got.dtype == want.dtype.newbyteorder("=") and got.shape == want.shape, name
        assert got.tobytes() == want.astype(got.dtype).tobytes(), name
        assert got.flags.writeable and got.flags.c_contiguous
    assert list(tables) == list(TABLES)
    for name, wanted in TABLES.items():
        assert tables[name].schema.equals(wanted.schema) and tables[name].equals(wanted), name
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_long_columns_and_arrays_come_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "PIECE_ROWS", 7)
    monkeypatch.setattr(snapshot, "BLOCK", 64)
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    array = rng.integers(0, 255, (97, 3), np.uint8)
    words = pa.table({"w": ["x" * int(n) for n in rng.integers(0, 30, 100)], "b": rng.random(100) < 0.5})
    snapshot.write(path, KIND, VERSION, {}, {"a": array}, {"w": words})
    _, arrays, tables = snapshot.read(path, KIND, VERSION)
    assert (arrays["a"] == array).all() and tables["w"].equals(words)


def test_nothing_is_a_snapshot_too(path: Path) -> None:
    snapshot.write(path, KIND, VERSION, {}, {}, {})
    assert snapshot.read(path, KIND, VERSION) == ({}, {}, {})
    snapshot.write(str(path), KIND, VERSION, {"n": 2}, {}, {})  # over an old one
    assert snapshot.read(str(path), KIND, VERSION).meta == {"n": 2}


def test_arrays_are_not_copied(path: Path) -> None:
    array = np.zeros(30 << 20, np.uint8)
    tracemalloc.start()
    try:
        snapshot.write(path, KIND, VERSION, {}, {"a": array}, {})
        assert tracemalloc.get_traced_memory()[1] < 3 << 20
        snapshot.read(path, KIND, VERSION)
        assert tracemalloc.get_traced_memory()[1] < 35 << 20
    finally:
        tracemalloc.stop()


def test_every_changed_byte_is_noticed(path: Path) -> None:
    data = small(path)
    print("seed", SEED)
    bits = np.random.default_rng(SEED).integers(0, 8, len(data)).tolist()
    for i, bit in enumerate(bits):
        for flip in (0xFF, 1 << bit):
            refused(path, data[:i] + bytes([data[i] ^ flip]) + data[i + 1 :])


def test_every_length_is_noticed(path: Path) -> None:
    data = small(path)
    for length in range(len(data)):
        message = refused(path, data[:length])
        assert "it is incomplete" in message if length else "not a Nearcast snapshot" in message
    assert "followed by bytes that are not its own" in refused(path, data + b"\0")
    assert "followed by" in refused(path, data + data)


def test_messages_say_what_and_what_to_do(path: Path) -> None:
    data = small(path)
    assert "is not a Nearcast snapshot; give the path of a file that" in refused(path, b"PK\x03\x04 and more")
    assert "its first bytes are damaged; restore another snapshot or build" in refused(
        path, data[:9] + b"?" + data[10:]
    )
    assert "array 'a' is damaged; restore another" in refused(path, data[:64] + b"?" + data[65:])
    assert "array 'a' is damaged" in refused(path, data[:127] + b"?" + data[128:])  # padding
    assert "the index is damaged" in refused(path, data[:-1] + b"?")
    assert "table 't', column 'id' is damaged" in refused(path, data.replace(b"x\0", b"y\0", 1))
    path.write_bytes(data)
    with pytest.raises(DamagedSnapshot, match=r"of version 3, and this release reads version 4; use the release that"):
        snapshot.read(path, KIND, VERSION + 1)
    with pytest.raises(DamagedSnapshot, match=r"of kind 'engine', not 'vocabulary'; give another path"):
        snapshot.read(path, "vocabulary", VERSION)
    with pytest.raises(FileNotFoundError):
        snapshot.read(path.with_name("absent"), KIND, VERSION)


def test_what_cannot_be_written_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = small(path)
    nothing: dict[str, Any] = {"meta": {}, "arrays": {}, "tables": {}}
    loop: list[object] = []
    loop.append(loop)
    for bad in (
        {"arrays": {"o": np.array([object()])}},
        {"arrays": {"s": np.array(["text"])}},
        {"arrays": {"t": np.array(["2020-01-01"], "datetime64[s]")}},
        {"arrays": {"r": np.zeros(2, [("x", "i4")])}},
        {"arrays": {"c": np.zeros(2, np.complex64)}},
        {"tables": {"t": pa.table({"l": [[1]]})}},
        {"tables": {"t": pa.table({"n": pa.nulls(2)})}},
        {"tables": {"t": pa.table({"d": pa.array(["a"]).dictionary_encode()})}},
        {"meta": {"x": float("nan")}},
        {"meta": {"x": np.int64(1)}},
        {"meta": {"x": loop}},
        {"meta": {"x": "y" * snapshot.MAX_INDEX}},
    ):
        with pytest.raises(InvalidInput) as caught:
            snapshot.write(path, KIND, VERSION, **(nothing | bad))
        assert caught.value.field in bad
        assert path.read_bytes() == before
    monkeypatch.setattr(snapshot, "_put", None)  # meta is refused before anything is written
    with pytest.raises(InvalidInput):
        snapshot.write(path, KIND, VERSION, {"x": {1, 2}}, {}, {})
    with pytest.raises(FileNotFoundError):
        snapshot.write(path.parent / "absent" / "x", KIND, VERSION, {}, {}, {})
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def forged(index: object, sections: bytes = b"") -> bytes:
    """A file whose checksums are right, whatever it says."""
    encoded = index if isinstance(index, bytes) else json.dumps(index).encode()
    prefix = struct.pack("<8sQQI", snapshot.MAGIC, 64 + len(sections), len(encoded), zlib.crc32(encoded)).ljust(
        60, b"\0"
    )
    return prefix + struct.pack("<I", zlib.crc32(prefix)) + sections + encoded


HUGE = 1 << 50
SECTION = np.arange(16, dtype=np.int32).tobytes()
CRC = zlib.crc32(SECTION)
GOOD_ARRAY = {"name": "a", "dtype": "<i4", "shape": [16], "crc": CRC}
GOOD_COLUMN = {"name": "c", "type": "int32", "nullable": True}
GOOD_PIECE = {"rows": 16, "buffers": [None, [64, CRC]]}


def index(arrays: object = (), tables: object = (), **more: object) -> dict[str, object]:
    return {"kind": KIND, "version": VERSION, "meta": {}, "arrays": arrays, "tables": tables, **more}


def one_table(column: dict[str, object], *pieces: dict[str, object]) -> dict[str, object]:
    return index(tables=[{"name": "t", "columns": [GOOD_COLUMN | column], "pieces": [list(pieces)]}])


def test_forging_works_at_all(path: Path) -> None:
    path.write_bytes(forged(index([GOOD_ARRAY]), SECTION))
    assert snapshot.read(path, KIND, VERSION).arrays["a"].tolist() == list(range(16))
    path.write_bytes(forged(one_table({}, GOOD_PIECE), SECTION))
    assert snapshot.read(path, KIND, VERSION).tables["t"].to_pydict() == {"c": list(range(16))}


@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b"\xff\xfe",
        b"[" * 200_000,
        b"1" * 10_000,
        b"null",
        b"{}",
        {"kind": KIND, "version": VERSION, "meta": {}},
        index(meta=[]),
        index(arrays=5),
        index([5]),
        index(),
        index([GOOD_ARRAY, GOOD_ARRAY]),
        *(
            index([GOOD_ARRAY | change])
            for change in (
                {"shape": [HUGE]},
                {"shape": [HUGE] * 50},
                {"shape": [-16]},
                {"shape": [-4, -4]},
                {"shape": [16.0]},
                {"shape": ["16"]},
                {"shape": [True] * 4},
                {"shape": [16] + [1] * 500},
                {"shape": {}},
                {"dtype": "O"},
                {"dtype": "|O8"},
                {"dtype": "<U16"},
                {"dtype": ["<i4"]},
                {"dtype": "|b1", "shape": [64]},
                {"crc": CRC + 1},
                {"crc": None},
                {"name": ["a"]},
            )
        ),
        index([GOOD_ARRAY, GOOD_ARRAY | {"shape": [0, HUGE, HUGE, HUGE], "crc": 0}]),
        *(
            one_table({}, GOOD_PIECE | change)
            for change in (
                {"rows": HUGE},
                {"rows": 17},
                {"rows": -1},
                {"rows": None},
                {"buffers": [[64, CRC]]},
                {"buffers": [None, None]},
                {"buffers": [None, [HUGE, CRC]]},
                {"buffers": [None, [-64, CRC]]},
                {"buffers": [None, [64, CRC], None]},
                {"buffers": [[0, 0], [64, CRC]]},  # a validity bitmap that is too short
                {"buffers": 7},
            )
        ),
        one_table({"type": "extension<arrow.py_extension_type>"}, GOOD_PIECE),
        one_table({"type": "string"}, {"rows": 15, "buffers": [None, [64, CRC], [0, 0]]}),  # offsets into nothing
        one_table({"type": "string"}, {"rows": HUGE, "buffers": [None, [64, CRC], [0, 0]]}),
        one_table({"type": "string"}, GOOD_PIECE),
        one_table({"name": 5}, GOOD_PIECE),
        index(tables=[{"name": "t", "columns": [], "pieces": [[GOOD_PIECE]]}]),
        index(tables=[{"name": "t", "columns": [GOOD_COLUMN, GOOD_COLUMN], "pieces": [[GOOD_PIECE], []]}]),
        index(tables=[{"name": "t", "columns": [GOOD_COLUMN], "pieces": []}]),
    ],
    ids=lambda hostile: re.sub(r"\W+", " ", str(hostile)[-60:]),
)
def test_hostile_files_are_refused_cheaply(path: Path, hostile: object) -> None:
    data = forged(hostile, SECTION)
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        refused(path, data)
        assert tracemalloc.get_traced_memory()[1] < (1 << 20) + 20 * len(data)
    finally:
        tracemalloc.stop()
    assert pa.total_allocated_bytes() - before < 1 << 20


def test_text_that_is_not_text_is_refused(path: Path) -> None:
    offsets, letters = struct.pack("<2i", 0, 2), b"\xff\xfe"
    sections = offsets.ljust(64, b"\0") + letters.ljust(64, b"\0")
    buffers = [None, [8, zlib.crc32(offsets)], [2, zlib.crc32(letters)]]
    assert "does not describe it" in refused(
        path, forged(one_table({"type": "string"}, {"rows": 1, "buffers": buffers}), sections)
    )


def test_an_index_of_any_size_is_not_read(path: Path) -> None:
    assert "claims" in refused(path, forged(b" " * (snapshot.MAX_INDEX + 1), SECTION))


def test_a_prefix_that_points_anywhere_is_refused(path: Path) -> None:
    for where, size in ((1 << 63, 5), (0, 128), (32, 96), (64, (1 << 64) - 1), (128, 0)):
        prefix = struct.pack("<8sQQI", snapshot.MAGIC, where, size, 0).ljust(60, b"\0")
        refused(path, prefix + struct.pack("<I", zlib.crc32(prefix)) + bytes(64))


KILLED = """
import os, signal, sys
import numpy as np, pyarrow as pa
from nearcast import snapshot
moment, path = sys.argv[1:]
name, _, calls = moment.partition(" ")
place = {"crc32": snapshot.zlib, "fsync": os, "replace": snapshot.Path}[name]
real, left = getattr(place, name), [int(calls)]
def dies(*args):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args)
setattr(place, name, dies)
snapshot.write(path, "engine", 3, {"n": 2}, {"a": np.ones(3 << 20, np.uint8)}, {"t": pa.table({"id": ["new"]})})
"""


@pytest.mark.parametrize("moment", ["crc32 1", "crc32 3", "crc32 6", "fsync 1", "replace 1"])
def test_a_killed_writer_leaves_the_old_file(path: Path, moment: str) -> None:
    before = small(path)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, moment, str(path)], check=False, capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert path.read_bytes() == before
    assert snapshot.read(path, KIND, VERSION).meta == {"n": 1}
    assert len(list(path.parent.iterdir())) == 2
    small(path)  # the next writer clears what the killed one left
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_file_being_written_is_no_leftover(path: Path) -> None:
    with snapshot._replacing(path) as outer:
        small(path)
        assert len(list(path.parent.iterdir())) == 2
        snapshot._put(outer, np.zeros(1, np.uint8), align=False)
    assert path.read_bytes() == b"\0"


def test_a_full_disk_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = small(path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left"):
        small(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]
