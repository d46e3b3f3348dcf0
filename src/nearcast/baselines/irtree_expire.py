"""Removing the oldest messages, and what it leaves: empty nodes go, a thin node is merged into a sibling.

A node is thin below a quarter of the fan-out. It is merged with the sibling whose box grows least among those with
which it fills at most three quarters; if there is none it stays (the R-tree's re-insertion costs far more and a stream
fills thin nodes again).
"""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from nearcast.baselines.irtree_inverted import growth, make_room, put
from nearcast.baselines.irtree_nodes import fit_box, free_node, free_slot, hold, link, stretch
from nearcast.baselines.irtree_state import EMPTY, FIRST, NEED_NODES, NEED_POSTINGS, ROOT, THIN
from nearcast.kernels.jit import helper, kernel, routine


@routine
def remove(nodes, messages, postings, seq):
    """Take a message out of its leaf, with its words; returns the leaf."""
    place = seq & (messages.leaf.shape[0] - 1)
    leaf = messages.leaf[place]
    slot = messages.slot[place]
    terms = np.empty(messages.words[place], np.uint32)
    count = 0
    table = nodes.table[leaf]
    for i in range(table, table + (1 << nodes.bits[leaf])):
        if postings.slot[i] == slot and postings.term[i] != EMPTY:
            terms[count] = postings.term[i]
            count += 1
    for i in range(count):
        put(nodes, postings, leaf, slot, terms[i], -1.0)
    nodes.child[leaf, slot] = -1
    nodes.size[leaf] -= 1
    return leaf


@helper
def unlink(meta, nodes, postings, node):
    """Take a node without postings out of the tree; returns its parent."""
    parent = nodes.parent[node]
    if parent < 0:
        meta[ROOT] = -1
    else:
        nodes.child[parent, nodes.place[node]] = -1
        nodes.size[parent] -= 1
    free_node(meta, nodes, postings, node)
    return parent


@routine
def choose_sibling(nodes, node):
    """The sibling to merge a thin node into, -1 if none has room."""
    parent = nodes.parent[node]
    most = 3 * (nodes.child.shape[1] - 1) // 4
    best = np.int64(-1)
    least = math.inf
    for slot in range(nodes.child.shape[1]):
        other = nodes.child[parent, slot]
        if other < 0 or other == node or nodes.size[other] + nodes.size[node] > most:
            continue
        more = 0.0
        for axis in range(3):
            more += max(nodes.box[other, axis] - nodes.box[node, axis], 0.0)
            more += max(nodes.box[node, axis + 3] - nodes.box[other, axis + 3], 0.0)
        if more < least:
            least = more
            best = other
    return best


@routine
def merge(meta, nodes, messages, postings, node, other):
    """Move all children of a node into its sibling. Posting by posting, so that the parent's maxima never move."""
    new_slot = np.empty(nodes.child.shape[1], np.int64)
    for slot in range(nodes.child.shape[1]):
        child = nodes.child[node, slot]
        if child < 0:
            continue
        new_slot[slot] = free_slot(nodes, other)
        if nodes.level[node] == 0:
            hold(nodes, messages, other, new_slot[slot], child)
        else:
            link(nodes, other, new_slot[slot], child)
    table = nodes.table[node]
    for i in range(table, table + (1 << nodes.bits[node])):
        term = postings.term[i]
        if term != EMPTY:
            put(nodes, postings, other, new_slot[postings.slot[i]], term, np.float64(postings.weight[i]))
            put(nodes, postings, nodes.parent[node], nodes.place[node], term, -1.0)
    stretch(nodes.box[other], nodes.box[node])
    unlink(meta, nodes, postings, node)


@helper
def is_thin(nodes, node):
    """Whether a node should be merged: below a quarter, or an inner node of one child."""
    return 4 * nodes.size[node] < nodes.child.shape[1] - 1 or (nodes.level[node] > 0 and nodes.size[node] < 2)


@routine
def condense(meta, nodes, messages, postings):
    """Merge the pending thin node, then its ancestors as far as they are thin; False: no room, ask for it."""
    while meta[THIN] >= 0:
        node = meta[THIN]
        parent = nodes.parent[node]
        if parent >= 0 and is_thin(nodes, node):
            other = choose_sibling(nodes, node)
            if other >= 0:
                # The parent may hold one posting more for a moment.
                need = growth(nodes, other, nodes.used[node]) + growth(nodes, parent, 1)
                if postings.end[0] + need > postings.term.shape[0]:
                    meta[NEED_NODES] = 0
                    meta[NEED_POSTINGS] = need
                    return False
                make_room(nodes, postings, other, nodes.used[node])
                make_room(nodes, postings, parent, np.int64(1))
                merge(meta, nodes, messages, postings, node, other)
        meta[THIN] = parent
    root = meta[ROOT]
    while root >= 0 and nodes.level[root] > 0 and nodes.size[root] == 1:
        slot = 0
        while nodes.child[root, slot] < 0:
            slot += 1
        meta[ROOT] = nodes.child[root, slot]
        free_node(meta, nodes, postings, root)
        root = meta[ROOT]
        nodes.parent[root] = -1
        nodes.place[root] = -1
    return True


@kernel
def expire(state, before):
    """Remove the messages with seq < before, oldest first; stops early when a merge asks for room (see `meta`)."""
    meta = state.meta
    nodes = state.nodes
    messages = state.messages
    postings = state.postings
    while condense(meta, nodes, messages, postings) and meta[FIRST] < before:
        seq = meta[FIRST]
        meta[FIRST] += 1
        if messages.leaf[seq & (messages.leaf.shape[0] - 1)] < 0:
            continue
        node = remove(nodes, messages, postings, seq)
        while node >= 0 and nodes.size[node] == 0:
            node = unlink(meta, nodes, postings, node)
        meta[THIN] = node
        while node >= 0 and fit_box(nodes, messages, node):
            node = nodes.parent[node]
