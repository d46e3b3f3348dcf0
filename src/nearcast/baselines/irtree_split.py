"""Splitting an overfull node: which children go, and how the inverted files follow.

The cut is the R*-tree's in one pass: the children in order of their centres along each axis, cut where the two boxes'
margins add up to the least, each side taking at least two fifths.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from nearcast.baselines.irtree_inverted import (
    bits_for,
    distinct_terms,
    drop_in,
    free_block,
    growth,
    home,
    is_first,
    make_room,
    put,
)
from nearcast.baselines.irtree_nodes import adopt, child_box, fit_box, free_slot, give_table, hold, link, take_node
from nearcast.baselines.irtree_state import EMPTY, NEED_NODES, NEED_POSTINGS, NODE_END, PENDING, ROOT
from nearcast.kernels.jit import helper, routine


@helper
def margin(box):
    """The sum of a box's sides: unlike its volume it is never 0 for want of one dimension."""
    return (box[3] - box[0]) + (box[4] - box[1]) + (box[5] - box[2])


@routine
def choose_sides(nodes, messages, node):
    """For every slot of a full node: 1 if its child goes to the new node, else 0."""
    width = nodes.child.shape[1]
    boxes = np.empty((width, 6))
    for slot in range(width):
        child_box(nodes, messages, node, slot, boxes[slot])
    side = np.zeros(width, np.uint8)
    least = math.inf
    smallest = max(1, 2 * width // 5)
    order = np.arange(width)
    ahead = np.empty(width)
    for axis in range(3):
        for i in range(1, width):  # insertion sort: stable, and nearly sorted from axis to axis in practice
            slot = order[i]
            centre = boxes[slot, axis] + boxes[slot, axis + 3]
            j = i
            while j > 0 and boxes[order[j - 1], axis] + boxes[order[j - 1], axis + 3] > centre:
                order[j] = order[j - 1]
                j -= 1
            order[j] = slot
        span = boxes[order[0]].copy()
        for i in range(width):
            other = boxes[order[i]]
            for d in range(3):
                span[d] = min(span[d], other[d])
                span[d + 3] = max(span[d + 3], other[d + 3])
            ahead[i] = margin(span)
        span[:] = boxes[order[width - 1]]
        for i in range(width - 1, smallest - 1, -1):
            other = boxes[order[i]]
            for d in range(3):
                span[d] = min(span[d], other[d])
                span[d + 3] = max(span[d + 3], other[d + 3])
            if i <= width - smallest and ahead[i - 1] + margin(span) < least:
                least = ahead[i - 1] + margin(span)
                side[:] = 0
                for j in range(i, width):
                    side[order[j]] = 1
    return side


@routine
def raise_root(meta, nodes, postings):
    """Put a new root above the root."""
    old = meta[ROOT]
    bits = bits_for(distinct_terms(nodes, postings, old))
    root = take_node(meta, nodes, nodes.level[old] + 1)
    give_table(nodes, postings, root, bits)
    adopt(nodes, postings, root, np.int64(0), old)  # a literal would compile a version of its own
    meta[ROOT] = root


@routine
def tell_parent(nodes, postings, node, other_slot, side):
    """Set the parent's postings of both halves. The new half first: so the parent's maxima never move."""
    table = nodes.table[node]
    bits = nodes.bits[node]
    mask = (1 << bits) - 1
    parent = nodes.parent[node]
    for i in range(1 << bits):
        term = postings.term[table + i]
        if term == EMPTY or not is_first(postings, table, bits, i):
            continue
        stays = -1.0
        goes = -1.0
        j = home(term, bits)
        while postings.term[table + j] != EMPTY:
            if postings.term[table + j] == term:
                weight = np.float64(postings.weight[table + j])
                if side[postings.slot[table + j]] == 1:
                    goes = max(goes, weight)
                else:
                    stays = max(stays, weight)
            j = (j + 1) & mask
        put(nodes, postings, parent, other_slot, term, goes)
        put(nodes, postings, parent, nodes.place[node], term, stays)


@routine
def deal_postings(nodes, postings, node, other, side, new_slot):
    """Deal a node's inverted file out to the two halves, in fresh tables of the right size."""
    old = nodes.table[node]
    old_bits = nodes.bits[node]
    used = nodes.used[node]
    goes = 0
    for i in range(old, old + (1 << old_bits)):
        if postings.term[i] != EMPTY and side[postings.slot[i]] == 1:
            goes += 1
    give_table(nodes, postings, other, bits_for(goes))
    give_table(nodes, postings, node, bits_for(used - goes))
    nodes.used[other] = goes
    nodes.used[node] = used - goes
    for i in range(old, old + (1 << old_bits)):
        if postings.term[i] == EMPTY:
            continue
        slot = postings.slot[i]
        half = other if side[slot] == 1 else node
        drop_in(postings, nodes.table[half], nodes.bits[half], postings.term[i], new_slot[slot], postings.weight[i])
    free_block(postings, old, old_bits)


@routine
def split(meta, nodes, messages, postings, node):
    """Split a node that has one child too many, in a parent that has a free slot."""
    parent = nodes.parent[node]
    make_room(nodes, postings, parent, distinct_terms(nodes, postings, node))
    side = choose_sides(nodes, messages, node)
    other = take_node(meta, nodes, nodes.level[node])
    other_slot = free_slot(nodes, parent)
    link(nodes, parent, other_slot, other)
    tell_parent(nodes, postings, node, other_slot, side)
    new_slot = np.empty(side.shape[0], np.uint8)
    for slot in range(side.shape[0]):
        new_slot[slot] = slot
        if side[slot] == 1:
            new_slot[slot] = nodes.size[other]
            child = nodes.child[node, slot]
            if nodes.level[node] == 0:
                hold(nodes, messages, other, nodes.size[other], child)
            else:
                link(nodes, other, nodes.size[other], child)
            nodes.child[node, slot] = -1
            nodes.size[node] -= 1
    deal_postings(nodes, postings, node, other, side, new_slot)
    fit_box(nodes, messages, node)
    fit_box(nodes, messages, other)


@routine
def settle(meta, nodes, messages, postings):
    """Split the pending node and then its ancestors as far as needed; False: there is no room, ask for it."""
    while meta[PENDING] >= 0:
        node = meta[PENDING]
        parent = nodes.parent[node]
        distinct = distinct_terms(nodes, postings, node)
        # A new root's table is at most doubled when the second half comes in.
        need = (4 << bits_for(distinct)) if parent < 0 else growth(nodes, parent, distinct)
        need += 2 << nodes.bits[node]
        if meta[NODE_END] + 2 > nodes.size.shape[0] or postings.end[0] + need > postings.term.shape[0]:
            meta[NEED_NODES] = 2
            meta[NEED_POSTINGS] = need
            return False
        if parent < 0:
            raise_root(meta, nodes, postings)
            parent = meta[ROOT]
        split(meta, nodes, messages, postings, node)
        full = nodes.size[parent] == nodes.child.shape[1]
        meta[PENDING] = parent if full else -1
    return True
