"""The inverted file of a node: term -> (child slot, maximum weight of the term below that child).

It is an open-addressed hash table that may hold a term several times, once a child: the postings of a term stand in one
run of places that begins at the term's home, so reading a posting list is one short scan of memory. Deleting shifts
the run back, so there are no tombstones. `put` is the only way in which a posting changes: it sets one posting and
carries the node's new maximum to the ancestors as far as it differs. Hence maxima are exact at all times.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from nearcast.baselines.irtree_state import EMPTY, MIN_BITS
from nearcast.kernels.jit import helper, routine


@helper
def home(term, bits):
    """Where a term's run begins in a table of 2**bits places (Fibonacci hashing)."""
    return ((np.int64(term) * 1640531527) & 0xFFFFFFFF) >> (32 - bits)


@helper
def bits_for(count):
    """The smallest table that so many postings fill to at most two thirds."""
    bits = MIN_BITS
    while 3 * count > 2 << bits:
        bits += 1
    return bits


@helper
def growth(nodes, node, extra):
    """How many places of the arena `make_room` would take."""
    bits = bits_for(nodes.used[node] + extra)
    return (1 << bits) if bits > nodes.bits[node] else 0


@helper
def take_block(postings, bits):
    """A block of 2**bits free places. The caller has made sure that the arena has as many left."""
    block = postings.free[bits]
    if block >= 0:
        following = postings.term[block]
        postings.free[bits] = -1 if following == EMPTY else np.int64(following)
    else:
        block = postings.end[0]
        postings.end[0] += 1 << bits
    for i in range(block, block + (1 << bits)):
        postings.term[i] = EMPTY
    return block


@helper
def free_block(postings, block, bits):
    """Give a block back."""
    following = postings.free[bits]
    postings.term[block] = EMPTY if following < 0 else np.uint32(following)
    postings.free[bits] = block


@helper
def drop_in(postings, table, bits, term, slot, weight):
    """Store a posting that is known to be new."""
    mask = (1 << bits) - 1
    i = home(term, bits)
    while postings.term[table + i] != EMPTY:
        i = (i + 1) & mask
    postings.term[table + i] = term
    postings.slot[table + i] = slot
    postings.weight[table + i] = weight


@routine
def make_room(nodes, postings, node, extra):
    """Let a node's inverted file take so many more postings."""
    old_bits = nodes.bits[node]
    bits = bits_for(nodes.used[node] + extra)
    if bits <= old_bits:
        return
    old = nodes.table[node]
    table = take_block(postings, bits)
    for i in range(old, old + (1 << old_bits)):
        if postings.term[i] != EMPTY:
            drop_in(postings, table, bits, postings.term[i], postings.slot[i], postings.weight[i])
    free_block(postings, old, old_bits)
    nodes.table[node] = table
    nodes.bits[node] = bits


@helper
def erase(postings, table, bits, hole):
    """Remove the posting at place `hole`: later ones of the run move back unless they would pass their home."""
    mask = (1 << bits) - 1
    i = hole
    while True:
        i = (i + 1) & mask
        if postings.term[table + i] == EMPTY:
            break
        if ((i - home(postings.term[table + i], bits)) & mask) >= ((i - hole) & mask):
            postings.term[table + hole] = postings.term[table + i]
            postings.slot[table + hole] = postings.slot[table + i]
            postings.weight[table + hole] = postings.weight[table + i]
            hole = i
    postings.term[table + hole] = EMPTY


@routine
def put(nodes, postings, node, slot, term, weight):
    """Set a node's posting (term, slot), or remove it (weight -1); carry the node's maximum up while it changes."""
    while node >= 0:
        table = nodes.table[node]
        bits = nodes.bits[node]
        mask = (1 << bits) - 1
        at = np.int64(-1)
        old = -1.0
        others = -1.0
        i = home(term, bits)
        while postings.term[table + i] != EMPTY:
            if postings.term[table + i] == term:
                found = np.float64(postings.weight[table + i])
                if postings.slot[table + i] == slot:
                    at = i
                    old = found
                elif found > others:
                    others = found
            i = (i + 1) & mask
        if weight < 0.0:
            if at >= 0:
                erase(postings, table, bits, at)
                nodes.used[node] -= 1
        elif at >= 0:
            postings.weight[table + at] = weight
        else:
            postings.term[table + i] = term
            postings.slot[table + i] = slot
            postings.weight[table + i] = weight
            nodes.used[node] += 1
        after = max(others, weight)
        if after == max(others, old):
            return
        weight = after
        slot = nodes.place[node]
        node = nodes.parent[node]


@helper
def is_first(postings, table, bits, i):
    """Whether the posting at place `i` is the first of its term: so each term of a table is met once."""
    mask = (1 << bits) - 1
    term = postings.term[table + i]
    j = home(term, bits)
    while postings.term[table + j] != term:
        j = (j + 1) & mask
    return j == i


@routine
def distinct_terms(nodes, postings, node):
    """How many terms stand in a node's inverted file."""
    table = nodes.table[node]
    bits = nodes.bits[node]
    count = 0
    for i in range(1 << bits):
        if postings.term[table + i] != EMPTY and is_first(postings, table, bits, i):
            count += 1
    return count
