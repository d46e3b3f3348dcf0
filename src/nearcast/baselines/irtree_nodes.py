"""Nodes of the IR-tree as a place in the tree: taken, freed, linked, and their boxes."""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from nearcast.baselines.irtree_inverted import free_block, home, is_first, put, take_block
from nearcast.baselines.irtree_state import EMPTY, NODE_END, NODE_FREE
from nearcast.kernels.jit import helper, routine


@routine
def take_node(meta, nodes, level):
    """A node without children, as yet without an inverted file; the caller has made sure that one is left."""
    node = meta[NODE_FREE]
    if node >= 0:
        meta[NODE_FREE] = nodes.parent[node]
    else:
        node = meta[NODE_END]
        meta[NODE_END] += 1
    for slot in range(nodes.child.shape[1]):
        nodes.child[node, slot] = -1
    nodes.size[node] = 0
    nodes.parent[node] = -1
    nodes.place[node] = -1
    nodes.level[node] = level
    for axis in range(3):
        nodes.box[node, axis] = math.inf
        nodes.box[node, axis + 3] = -math.inf
    return node


@helper
def give_table(nodes, postings, node, bits):
    """Give a node an empty inverted file of 2**bits places."""
    nodes.table[node] = take_block(postings, bits)
    nodes.bits[node] = bits
    nodes.used[node] = 0


@routine
def free_node(meta, nodes, postings, node):
    """Give a node and its inverted file back."""
    free_block(postings, nodes.table[node], nodes.bits[node])
    nodes.level[node] = -1
    nodes.parent[node] = meta[NODE_FREE]
    meta[NODE_FREE] = node


@helper
def free_slot(nodes, node):
    """A slot without a child; the overflow slot sees to it that there is one."""
    slot = 0
    while nodes.child[node, slot] >= 0:
        slot += 1
    return slot


@helper
def link(nodes, node, slot, child):
    """Make a node the child of another."""
    nodes.child[node, slot] = child
    nodes.size[node] += 1
    nodes.parent[child] = node
    nodes.place[child] = slot


@helper
def hold(nodes, messages, leaf, slot, seq):
    """Make a message the child of a leaf."""
    nodes.child[leaf, slot] = seq
    nodes.size[leaf] += 1
    place = seq & (messages.leaf.shape[0] - 1)
    messages.leaf[place] = leaf
    messages.slot[place] = slot


@helper
def child_box(nodes, messages, node, slot, out):
    """The box of one child; of a message its point."""
    child = nodes.child[node, slot]
    if nodes.level[node] == 0:
        place = child & (messages.leaf.shape[0] - 1)
        for axis in range(3):
            out[axis] = messages.point[place, axis]
            out[axis + 3] = messages.point[place, axis]
    else:
        for axis in range(6):
            out[axis] = nodes.box[child, axis]


@helper
def stretch(box, other):
    """Stretch a box over another."""
    for axis in range(3):
        box[axis] = min(box[axis], other[axis])
        box[axis + 3] = max(box[axis + 3], other[axis + 3])


@routine
def fit_box(nodes, messages, node):
    """Compute a node's box from its children; whether it has changed."""
    one = np.empty(6)
    box = np.array([math.inf, math.inf, math.inf, -math.inf, -math.inf, -math.inf])
    for slot in range(nodes.child.shape[1]):
        if nodes.child[node, slot] >= 0:
            child_box(nodes, messages, node, slot, one)
            stretch(box, one)
    changed = False
    for axis in range(6):
        if nodes.box[node, axis] != box[axis]:
            nodes.box[node, axis] = box[axis]
            changed = True
    return changed


@routine
def adopt(nodes, postings, node, slot, child):
    """Make `child` a child of `node`, a node that has no parent yet: link, postings and box."""
    link(nodes, node, slot, child)
    table = nodes.table[child]
    bits = nodes.bits[child]
    mask = (1 << bits) - 1
    for i in range(1 << bits):
        term = postings.term[table + i]
        if term == EMPTY or not is_first(postings, table, bits, i):
            continue
        top = -1.0
        j = home(term, bits)
        while postings.term[table + j] != EMPTY:
            if postings.term[table + j] == term:
                top = max(top, np.float64(postings.weight[table + j]))
            j = (j + 1) & mask
        put(nodes, postings, node, slot, term, top)
    stretch(nodes.box[node], nodes.box[child])
