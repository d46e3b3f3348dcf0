"""A vocabulary as an Arrow table, and back, for snapshots and for Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nearcast.errors import DamagedSnapshot
from nearcast.text.tokens import Tokenizer

_KEY = b"nearcast.vocabulary"
_VERSION = 1
_COLUMNS = pa.schema([pa.field("word", pa.large_string()), pa.field("frequency", pa.int64())])


def to_arrow(
    words: Sequence[str], frequencies: NDArray[np.int64], documents: int, frozen: bool, tokenizer: Tokenizer
) -> pa.Table:
    """Words and frequencies in order of id; everything else in the schema's metadata."""
    settings = {"languages": tokenizer.languages, "stemmer": tokenizer.stemmer, "stop_words": tokenizer.stop_words}
    about = {"version": _VERSION, "documents": documents, "frozen": frozen, "tokenizer": settings}
    columns = [pa.array(words, pa.large_string()), pa.array(frequencies.copy(), pa.int64())]
    return pa.table(columns, schema=_COLUMNS.with_metadata({_KEY: json.dumps(about)}))


def from_arrow(table: pa.Table) -> tuple[Tokenizer, int, bool]:
    """Check a table that `to_arrow` wrote; its tokenizer, number of documents, and whether it is frozen."""
    if not table.schema.equals(_COLUMNS):
        raise DamagedSnapshot(f"vocabulary: the columns are {table.schema.names}, not those of a vocabulary")
    try:
        about = json.loads((table.schema.metadata or {})[_KEY])
        if about["version"] != _VERSION:
            raise DamagedSnapshot(f"vocabulary: written by version {about['version']}, this is version {_VERSION}")
        tokenizer = Tokenizer(**about["tokenizer"])
        documents, frozen = about["documents"], about["frozen"]
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedSnapshot(f"vocabulary: its settings cannot be read ({error})") from error
    if type(documents) is not int or type(frozen) is not bool or table.num_rows != len(pc.unique(table["word"])):
        raise DamagedSnapshot("vocabulary: a setting or a word is not what it must be")
    bounds = pc.min_max(table["frequency"]).as_py()
    if (
        table["word"].null_count
        or table["frequency"].null_count
        or (table.num_rows and not 0 <= bounds["min"] <= bounds["max"] <= documents)
    ):
        raise DamagedSnapshot("vocabulary: a frequency is missing or out of bounds")
    return tokenizer, documents, frozen
