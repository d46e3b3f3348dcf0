"""The allocators: chunks in use and free ones never overlap, and none is lost."""

from __future__ import annotations

import numpy as np

from nearcast.invariants.tables import Array, Table
from nearcast.kernels import layout as at
from nearcast.shard import Shard

Chunks = list[tuple[int, int]]
"""(begin, size)"""


def check(t: Table, shard: Shard, words: int) -> None:
    """Buffers, terms, postings, directories."""
    s, p = shard.subscriptions, shard.postings
    heads = p.lists[:words].astype(np.int64)
    columns = (at.S_BUFFER, at.S_CAPACITY, at.S_TERMS, at.S_NTERMS)
    rows = s.u32[t.rows][:, columns].astype(np.int64).tolist()
    used = [int(s.control[c]) for c in (at.C_BUFFER_USED, at.C_TERMS_USED, at.C_POSTINGS_USED, at.C_DIRECTORY_USED)]

    chunks: Chunks = [(begin, room // 8 * 5) for begin, room, _, _ in rows if room]
    cover("buffers", chunks, walk(s.free[0], s.buffer_u32, 4, buffer_units), 0, used[0], True)
    chunks = [(begin, power(count)) for _, _, begin, count in rows]
    cover("terms", chunks, walk(s.free[1], s.terms_flat, 4, two_to), 0, used[1], True)
    full = heads[heads[:, at.L_CAPACITY] > 0]
    chunks = [(begin, room) for begin, room in full[:, [at.L_START, at.L_CAPACITY]].tolist()]
    # place 0 is never used
    cover("postings", chunks, walk(p.free[0], p.owner, 1, two_to), at.CELL, used[2], True)
    ordered = heads[heads[:, at.L_CELLS] > 0]
    chunks = [(int(head[at.L_ROWS]), power(int(head[at.L_CELLS] + head[at.L_GROUPS]))) for head in ordered]
    cover("directories", chunks, walk(p.free[1], p.rows_u32.reshape(-1), 16, two_to), 0, used[3], True)


def power(count: int) -> int:
    """The least power of two that is not less."""
    return 1 << (count - 1).bit_length()


def two_to(size_class: int) -> int:
    """Size of a chunk by power of two."""
    return 1 << size_class


def buffer_units(size_class: int) -> int:
    """Size of a buffer's chunk: 8 entries of 10 bytes are 5 units; from 64 entries on four classes a doubling."""
    doublings = max(0, (size_class - 5) // 4)
    return 5 * ((size_class - 4 * doublings) << doublings)


def walk(heads: Array, links: Array, stride: int, size: object) -> Chunks:
    """All chunks on the free lists."""
    assert callable(size)
    found: Chunks = []
    seen: set[int] = set()
    for size_class, head in enumerate(heads.tolist()):
        place = head - 1
        while place >= 0:
            assert place not in seen, f"the chunk at {place} stands in a free list twice"
            seen.add(place)
            found.append((place, size(size_class)))
            place = int(links[place * stride]) - 1
    return found


def cover(what: str, taken: Chunks, free: Chunks, first: int, used: int, whole: bool) -> None:
    """Chunks lie apart from one another between `first` and `used`, and, if `whole`, without gaps."""
    names = dict.fromkeys(free, "free") | dict.fromkeys(taken, "in use")
    assert len(names) == len(free) + len(taken), f"{what}: a chunk is in use twice, or both in use and free"
    end = first
    for (begin, size), name in sorted(names.items()):
        assert begin >= end, f"{what}: the chunk at {begin} ({name}) overlaps the one before it, which ends at {end}"
        assert not whole or begin == end, f"{what}: nobody has the memory from {end} to {begin}"
        end = begin + size
    assert end <= used and (not whole or end == used), f"{what}: chunks end at {end}, used are {used}"
