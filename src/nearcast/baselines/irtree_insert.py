"""Inserting messages one by one: choose a leaf, put the message and its words in, split what overflows."""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from nearcast.baselines.irtree_inverted import growth, make_room, put
from nearcast.baselines.irtree_nodes import free_slot, give_table, hold, take_node
from nearcast.baselines.irtree_split import settle
from nearcast.baselines.irtree_state import MIN_BITS, NEED_NODES, NEED_POSTINGS, NEXT, NODE_END, PENDING, ROOT
from nearcast.kernels.jit import helper, kernel


@helper
def choose_leaf(meta, nodes, point):
    """Go down by the least growth of the box's margin, of equal ones into the smallest box."""
    node = meta[ROOT]
    while nodes.level[node] > 0:
        best = np.int64(-1)
        least = math.inf
        smallest = math.inf
        for slot in range(nodes.child.shape[1]):
            child = nodes.child[node, slot]
            if child < 0:
                continue
            more = 0.0
            size = 0.0
            for axis in range(3):
                low = nodes.box[child, axis]
                high = nodes.box[child, axis + 3]
                more += max(low - point[axis], 0.0) + max(point[axis] - high, 0.0)
                size += high - low
            if more < least or (more == least and size < smallest):
                best = child
                least = more
                smallest = size
        node = best
    return node


@kernel
def insert(state, points, offsets, terms, weights, begin):
    """Insert the messages of a batch from row `begin`; returns how far it came, and what it lacks in `meta`.

    The ring of messages has room for them all. Called again, it first finishes the split that it had no room for.
    """
    meta = state.meta
    nodes = state.nodes
    messages = state.messages
    postings = state.postings
    for row in range(begin, points.shape[0]):
        if not settle(meta, nodes, messages, postings):
            return row
        seq = meta[NEXT]
        place = seq & (messages.leaf.shape[0] - 1)
        words = offsets[row + 1] - offsets[row]
        for axis in range(3):
            messages.point[place, axis] = points[row, axis]
        messages.words[place] = words
        messages.leaf[place] = -1
        if words == 0:
            meta[NEXT] += 1
            continue
        if meta[ROOT] < 0:
            if meta[NODE_END] + 1 > nodes.size.shape[0] or postings.end[0] + 16 > postings.term.shape[0]:
                meta[NEED_NODES] = 1
                meta[NEED_POSTINGS] = 16
                return row
            meta[ROOT] = take_node(meta, nodes, 0)
            give_table(nodes, postings, meta[ROOT], MIN_BITS)
        point = points[row]
        leaf = choose_leaf(meta, nodes, point)
        need = 0
        node = leaf
        while node >= 0:
            need += growth(nodes, node, words)
            node = nodes.parent[node]
        if postings.end[0] + need > postings.term.shape[0]:
            meta[NEED_NODES] = 0
            meta[NEED_POSTINGS] = need
            return row
        node = leaf
        while node >= 0:
            make_room(nodes, postings, node, words)
            for axis in range(3):
                nodes.box[node, axis] = min(nodes.box[node, axis], point[axis])
                nodes.box[node, axis + 3] = max(nodes.box[node, axis + 3], point[axis])
            node = nodes.parent[node]
        slot = free_slot(nodes, leaf)
        hold(nodes, messages, leaf, slot, seq)
        for i in range(offsets[row], offsets[row + 1]):
            put(nodes, postings, leaf, slot, terms[i], np.float64(weights[i]))
        meta[NEXT] += 1
        if nodes.size[leaf] == nodes.child.shape[1]:
            meta[PENDING] = leaf
    settle(meta, nodes, messages, postings)
    return points.shape[0]
