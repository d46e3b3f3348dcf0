"""One file that holds named arrays and tables: written whole or not at all, read back whole or refused.

    64 bytes     magic, where the index is, its size and checksum, a checksum of these bytes
    sections     the raw bytes of arrays and of tables' columns, each begun at a multiple of 64, padded with zeros
    index        JSON: kind, version, the caller's `meta`, and of each section its type, its shape and its checksum

The index is last, so that one pass both checksums and writes; the first bytes are filled in at the end. Every byte is
covered by a checksum or must be zero. Nothing in a file is executed, and nothing is allocated before the sizes are
known to fit the file exactly: column types are taken from a list, and neither pickle nor Arrow's own messages are read.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import secrets
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearcast.errors import DamagedSnapshot, InvalidInput

MAGIC = b"NEARCST\x01"
PREFIX = 64
ALIGN = 64
MAX_INDEX = 8 << 20
BLOCK = 1 << 20
"""Bytes that are checksummed and then written while they are still in the processor's cache."""
PIECE_ROWS = 1 << 18
"""Rows of a column that are brought into one shape (and so copied) at a time."""

DTYPES = frozenset(["|b1", "|i1", "|u1", *(f"<{kind}{size}" for kind in "iu" for size in (2, 4, 8)), "<f4", "<f8"])
FIXED = (
    [pa.bool_(), pa.float32(), pa.float64()]
    + [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
    + [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
)
TYPES = {str(t): t for t in [*FIXED, pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]}

ADVICE = "restore another snapshot or build the state anew"

Array = NDArray[Any]
Bytes = NDArray[np.uint8]


class Contents(NamedTuple):
    """What a snapshot held. Arrays are fresh and writable."""

    meta: dict[str, Any]
    arrays: dict[str, Array]
    tables: dict[str, pa.Table]


# --- writing ---------------------------------------------------------------------------------------------------------


def write(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    meta: Mapping[str, Any],
    arrays: Mapping[str, Array],
    tables: Mapping[str, pa.Table],
) -> None:
    """Write a snapshot; `path` holds it whole when this returns, and what it held before if anything goes wrong.

    `meta` is of JSON's types. Arrays are of booleans, integers and floats, written from their own memory if they are in
    C order. Tables keep column names, types and nullability; their columns are of those types, strings and binary.
    """
    for name, array in arrays.items():
        if array.dtype.newbyteorder("<").str not in DTYPES:
            raise InvalidInput("arrays", f"{name!r} is of type {array.dtype}, which a snapshot does not hold")
    for name, table in tables.items():
        for field in table.schema:
            if str(field.type) not in TYPES:
                problem = f"{name!r}, column {field.name!r} is of type {field.type}, which a snapshot does not hold"
                raise InvalidInput("tables", problem)
    _encode(dict(meta))  # refused now rather than after gigabytes
    with _replacing(Path(path)) as file:
        _put(file, np.zeros(PREFIX, np.uint8))
        index = {
            "kind": kind,
            "version": version,
            "meta": dict(meta),
            "arrays": [{"name": name, **_put_array(file, array)} for name, array in arrays.items()],
            "tables": [{"name": name, **_put_table(file, table)} for name, table in tables.items()],
        }
        encoded = _encode(index)
        where = file.tell()
        crc = _put(file, np.frombuffer(encoded, np.uint8), align=False)
        prefix = struct.pack("<8sQQI", MAGIC, where, len(encoded), crc).ljust(PREFIX - 4, b"\0")
        file.seek(0)
        _put(file, np.frombuffer(prefix + struct.pack("<I", zlib.crc32(prefix)), np.uint8))


def _encode(index: dict[str, Any]) -> bytes:
    try:
        encoded = json.dumps(index, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("meta", f"is not plain JSON: {error}") from None
    if len(encoded) > MAX_INDEX:
        raise InvalidInput("meta", f"with the index takes {len(encoded)} bytes, of at most {MAX_INDEX}; use a table")
    return encoded


@contextmanager
def _replacing(path: Path) -> Iterator[FileIO]:
    """A new file beside `path` that takes its place at the end, once it is on the disk.

    It is locked while it is written, so leftovers of processes that were killed can be told from files being written.
    """
    start, end = f".{path.name}.", ".partial"
    for leftover in path.parent.iterdir():
        if leftover.name.startswith(start) and leftover.name.endswith(end):
            with suppress(OSError), FileIO(leftover) as old:
                fcntl.flock(old, fcntl.LOCK_EX | fcntl.LOCK_NB)
                leftover.unlink()
    partial, file = _open_locked(path, start, end)
    try:
        with file:
            yield file
            os.fsync(file.fileno())
            partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _open_locked(path: Path, start: str, end: str) -> tuple[Path, FileIO]:
    while True:
        partial = path.with_name(f"{start}{secrets.token_hex(8)}{end}")
        file = FileIO(partial, "x+")
        with suppress(OSError):  # a file system without locks keeps its leftovers
            fcntl.flock(file, fcntl.LOCK_EX)
        if partial.exists():  # else another writer took it for a leftover before it was locked
            return partial, file
        file.close()


def _put(file: FileIO, data: Bytes, align: bool = True) -> int:
    """Append bytes, pad them, and return their checksum."""
    crc = 0
    for start in range(0, data.size, BLOCK):
        block = data[start : start + BLOCK].data
        crc = zlib.crc32(block, crc)
        _write_all(file, block)
    if align:
        _write_all(file, memoryview(bytes(-data.size % ALIGN)))
    return crc


def _write_all(file: FileIO, block: memoryview) -> None:
    while block.nbytes:
        block = block[file.write(block) :]


def _put_array(file: FileIO, array: Array) -> dict[str, Any]:
    data = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    crc = _put(file, data.reshape(-1).view(np.uint8))
    return {"dtype": data.dtype.str, "shape": list(array.shape), "crc": crc}


def _put_table(file: FileIO, table: pa.Table) -> dict[str, Any]:
    columns = [{"name": f.name, "type": str(f.type), "nullable": f.nullable} for f in table.schema]
    return {"columns": columns, "pieces": [_put_column(file, column) for column in table.columns]}


def _put_column(file: FileIO, column: pa.ChunkedArray) -> list[dict[str, Any]]:
    pieces = []
    for chunk in column.chunks:
        for start in range(0, len(chunk), PIECE_ROWS):
            part = chunk.slice(start, PIECE_ROWS)
            whole = pa.concat_arrays([part])  # a copy of this part alone, from offset 0
            buffers = [None if b is None else np.frombuffer(b, np.uint8) for b in whole.buffers()]
            crcs = [None if b is None else [b.size, _put(file, b)] for b in buffers]
            pieces.append({"rows": len(whole), "buffers": crcs})
    return pieces


# --- reading ---------------------------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str], kind: str, version: int) -> Contents:
    """Read a snapshot of this kind and version, or raise DamagedSnapshot. A file that is not there is an OSError."""
    with FileIO(path) as file:
        reader = _Reader(file, os.fspath(path))
        index = reader.index(kind, version)
        try:
            reader.check_sizes(index)
            arrays = {entry["name"]: reader.array(entry) for entry in index["arrays"]}
            tables = {entry["name"]: reader.table(entry) for entry in index["tables"]}
            return Contents(index["meta"], arrays, tables)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError, pa.ArrowException) as error:
            # checksums were right, so this is a file made up, or written by a broken program
            raise reader.refuse(f"its index does not describe it ({type(error).__name__}: {error})") from error


class _Reader:
    """Reads one file from front to back, checking all of it."""

    def __init__(self, file: FileIO, path: str) -> None:
        self.file = file
        self.path = path
        self.size = os.fstat(file.fileno()).st_size

    def refuse(self, problem: str, advice: str = ADVICE) -> DamagedSnapshot:
        return DamagedSnapshot(f"{self.path}: {problem}; {advice}")

    def index(self, kind: str, version: int) -> dict[str, Any]:
        """The checked index; the file then stands at the first section."""
        prefix = self.file.read(PREFIX)
        if prefix[: len(MAGIC)] != MAGIC[: len(prefix)] or not prefix:
            raise self.refuse("this is not a Nearcast snapshot", "give the path of a file that a snapshot wrote")
        if len(prefix) < PREFIX:
            raise self.refuse(f"it is incomplete, only {self.size} bytes are there")
        _, self.end, size, crc = struct.unpack_from("<8sQQI", prefix)
        if zlib.crc32(prefix[:-4]) != struct.unpack("<I", prefix[-4:])[0]:
            raise self.refuse("its first bytes are damaged")
        if self.size != self.end + size:
            problem = "incomplete" if self.size < self.end + size else "followed by bytes that are not its own"
            raise self.refuse(f"it is {problem}, {self.size} bytes where {self.end + size} belong")
        if size > MAX_INDEX:
            raise self.refuse(f"its index claims {size} bytes, more than any snapshot's")
        self.file.seek(self.end)
        encoded = self.take(size, crc, "the index", align=False).tobytes()
        self.file.seek(PREFIX)
        try:
            index = json.loads(encoded)
        except (ValueError, RecursionError) as error:
            raise self.refuse(f"its index cannot be read ({error})") from None
        if not isinstance(index, dict) or not isinstance(index.get("meta"), dict):
            raise self.refuse("its index is not one of a snapshot")
        if index.get("kind") != kind:
            raise self.refuse(f"it is a snapshot of kind {index.get('kind')!r}, not {kind!r}", "give another path")
        if index.get("version") != version:
            raise self.refuse(
                f"it is of version {index.get('version')!r}, and this release reads version {version}",
                "use the release that wrote it, or build the state anew",
            )
        return index

    def check_sizes(self, index: dict[str, Any]) -> None:
        """Before anything is allocated: the sections fill the file exactly."""
        sizes = [_array_size(entry) for entry in index["arrays"]]
        for entry in index["tables"]:
            if len(entry["columns"]) != len(entry["pieces"]):
                raise ValueError("a table's columns and its pieces differ in number")
            for pieces in entry["pieces"]:
                sizes += [_count(b[0]) for piece in pieces for b in piece["buffers"] if b is not None]
        if PREFIX + sum(size + -size % ALIGN for size in sizes) != self.end:
            raise ValueError("the sections do not fill the file")

    def take(self, size: int, crc: int, what: str, align: bool = True) -> Bytes:
        """The next section's bytes in fresh memory."""
        data = np.empty(size, np.uint8)
        seen = 0
        for start in range(0, size, BLOCK):
            block = data[start : start + BLOCK].data
            self.fill(block)
            seen = zlib.crc32(block, seen)
        padding = bytearray(-size % ALIGN if align else 0)
        self.fill(memoryview(padding))
        if seen != crc or any(padding):
            raise self.refuse(f"{what} is damaged")
        return data

    def fill(self, block: memoryview) -> None:
        while block.nbytes:
            count = self.file.readinto(block)
            if not count:
                raise self.refuse("it became shorter while it was read")
            block = block[count:]

    def array(self, entry: dict[str, Any]) -> Array:
        data = self.take(_array_size(entry), entry["crc"], f"array {entry['name']!r}")
        if entry["dtype"] == "|b1" and data.size and data.max() > 1:
            raise ValueError("a boolean is neither 0 nor 1")
        array: Array = data.view(entry["dtype"]).reshape(entry["shape"])
        return array

    def table(self, entry: dict[str, Any]) -> pa.Table:
        fields = [pa.field(c["name"], TYPES[c["type"]], nullable=c["nullable"] is True) for c in entry["columns"]]
        columns = [
            pa.chunked_array([self.piece(entry["name"], field, piece) for piece in pieces], field.type)
            for field, pieces in zip(fields, entry["pieces"], strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))  # refuses columns of unequal length

    def piece(self, table: str, field: pa.Field, piece: dict[str, Any]) -> pa.Array:
        what = f"table {table!r}, column {field.name!r}"
        buffers = [None if b is None else pa.py_buffer(self.take(b[0], b[1], what)) for b in piece["buffers"]]
        if len(buffers) != (2 if field.type in FIXED else 3) or any(b is None for b in buffers[1:]):
            raise ValueError(f"{what} has buffers of another type")
        array = pa.Array.from_buffers(field.type, _count(piece["rows"]), buffers)
        array.validate(full=True)
        return array


def _array_size(entry: dict[str, Any]) -> int:
    if entry["dtype"] not in DTYPES:
        raise ValueError(f"type {entry['dtype']!r}")
    size: int = math.prod(map(_count, entry["shape"])) * np.dtype(entry["dtype"]).itemsize
    return size


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 62:
        raise ValueError(f"{value!r} is not a size")
    return value
