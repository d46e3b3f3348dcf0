"""Many texts, a few at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import pyarrow as pa

from nearcast.errors import InvalidInput

CHUNK = 1024  # texts cut at once: their forms stay in the processor's cache
CHUNK_CHARACTERS = 1 << 20


def chunks(texts: Iterator[str]) -> Iterator[list[str]]:
    """Some texts at a time, fewer if they are long, so that what is cut from them stays small."""
    while chunk := list(islice(texts, CHUNK)):
        if len(chunk) > 1 and sum(map(len, chunk)) > CHUNK_CHARACTERS:
            yield from ([text] for text in chunk)
        else:
            yield chunk


def corpus(texts: Iterable[str]) -> Iterator[str]:
    """Texts to fit on, also out of Arrow; only strings."""
    if isinstance(texts, str):
        raise InvalidInput("texts", "many texts, not one string")
    if isinstance(texts, (pa.Array, pa.ChunkedArray)):
        array, starts = texts, range(0, len(texts), CHUNK)
        texts = (text for start in starts for text in array.slice(start, CHUNK).to_pylist())
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InvalidInput("texts", f"row {row} is not a string but {type(text).__name__}")
        yield text
