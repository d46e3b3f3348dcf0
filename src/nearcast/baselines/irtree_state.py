"""The arrays of an IR-tree, how they start and how they grow. Kernels never grow anything: they stop and ask.

Every growing kernel returns where it stopped, with what it lacks in `meta[NEED_NODES]` and `meta[NEED_POSTINGS]`; the
class then calls `grown` and calls the kernel again. So no kernel ever leaves half an insertion behind.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

EMPTY = np.uint32(0xFFFFFFFF)
"""The term of a free place in an inverted file; therefore no message may use this term."""

MIN_BITS = 4
"""The smallest inverted file has 2**4 places."""

# Places in `meta`.
ROOT = 0  # the root node, -1 while nothing is indexed
NODE_END = 1  # nodes from here on were never used
NODE_FREE = 2  # first of the freed nodes, linked through `parent`; -1 if none
PENDING = 3  # an overfull node that waits for its split, -1 if none
THIN = 4  # an underfull node that waits for its merge, -1 if none
FIRST = 5  # oldest live seq
NEXT = 6  # next seq
NEED_NODES = 7  # how many nodes the stopped kernel lacks room for
NEED_POSTINGS = 8  # how many places of the arena the stopped kernel lacks
META = 9


class Nodes(NamedTuple):
    """One row a node. A slot is a child's place in its node: it never moves while the child stays there."""

    child: Array  # int64 [node, slot]: a node's number, in a leaf a message's seq; -1 free. One slot is for overflow
    size: Array  # int64: how many children it has
    parent: Array  # int64: -1 at the root; of a freed node the next freed one
    place: Array  # int64: its slot in its parent
    level: Array  # int64: 0 is a leaf, -1 a freed node
    box: Array  # float64 [node, 6]: the lowest x, y, z below it, then the highest; always exact
    table: Array  # int64: where its inverted file begins in the arena
    bits: Array  # int64: its inverted file has 2**bits places
    used: Array  # int64: of which so many hold a posting


class Postings(NamedTuple):
    """The arena of all inverted files: posting = (term, slot of the child, maximum weight of the term below it)."""

    term: Array  # uint32, EMPTY in a free place; first place of a free block: the next free block of that size
    slot: Array  # uint8
    weight: Array  # float32
    free: Array  # int64 [bits]: first free block of 2**bits places, -1 if none
    end: Array  # int64 [1]: the arena from here on was never used


class Messages(NamedTuple):
    """The live messages, a ring: message `seq` stands at `seq & (size - 1)`. Their words stand in the leaves only."""

    point: Array  # float64 [place, 3]
    leaf: Array  # int64: the leaf that holds it; -1 for a message without words, which no search can find
    slot: Array  # int64: its slot there
    words: Array  # int64: how many words it has


class State(NamedTuple):
    """A whole IR-tree."""

    meta: Array  # int64: see ROOT and what follows it
    nodes: Nodes
    postings: Postings
    messages: Messages


def new_state(fanout: int) -> State:
    """An empty tree with room for little."""
    meta = np.zeros(META, np.int64)
    meta[[ROOT, NODE_FREE, PENDING, THIN]] = -1
    ints = [np.zeros(8, np.int64) for _ in range(6)]
    child = np.full((8, fanout + 1), -1, np.int64)
    size, parent, place, level, bits, used = ints
    nodes = Nodes(child, size, parent, place, level, np.zeros((8, 6)), np.zeros(8, np.int64), bits, used)
    free, end = np.full(40, -1, np.int64), np.zeros(1, np.int64)
    postings = Postings(np.zeros(1024, np.uint32), np.zeros(1024, np.uint8), np.zeros(1024, np.float32), free, end)
    messages = Messages(np.zeros((16, 3)), np.full(16, -1, np.int64), np.zeros(16, np.int64), np.zeros(16, np.int64))
    return State(meta, nodes, postings, messages)


def longer(array: Array, size: int) -> Array:
    """The array with so many rows; the new ones are not set (untouched memory costs nothing)."""
    result = np.empty((size, *array.shape[1:]), array.dtype)
    result[: len(array)] = array
    return result


def grown(state: State, nodes: int, postings: int) -> State:
    """The state with room for so many more nodes and places of the arena (half as much again, or what is needed)."""
    if nodes:
        size = int(state.meta[NODE_END]) + nodes
        size = max(size, len(state.nodes.size) * 3 // 2)
        state = state._replace(nodes=Nodes(*(longer(array, size) for array in state.nodes)))
    if postings:
        arena = state.postings
        size = max(int(arena.end[0]) + postings, len(arena.term) * 3 // 2)
        if size >= int(EMPTY):
            raise MemoryError("the inverted files of one IR-tree may have at most 2**32 - 2 places")
        term, slot, weight = longer(arena.term, size), longer(arena.slot, size), longer(arena.weight, size)
        state = state._replace(postings=arena._replace(term=term, slot=slot, weight=weight))
    return state


def with_ring_for(state: State, live: int) -> State:
    """The state with a ring of messages that holds `live` of them."""
    old = state.messages
    size = len(old.leaf)
    if live <= size:
        return state
    while size < live:
        size *= 2
    seqs = np.arange(state.meta[FIRST], state.meta[NEXT])
    moved = Messages(*(np.empty((size, *array.shape[1:]), array.dtype) for array in old))
    for source, target in zip(old, moved, strict=True):
        target[seqs & (size - 1)] = source[seqs & (len(source) - 1)]
    return state._replace(messages=moved)
