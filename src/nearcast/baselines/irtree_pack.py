"""Bulk loading an empty tree: sort-tile-recursive packing (Leutenegger et al. 1997), level by level from the leaves."""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from nearcast.baselines.irtree_inverted import bits_for, distinct_terms, drop_in
from nearcast.baselines.irtree_nodes import adopt, give_table, hold, take_node
from nearcast.baselines.irtree_state import NEED_POSTINGS, Array
from nearcast.kernels.jit import kernel


def tiled(points: Array, size: int) -> Array:
    """An order of the points in which every run of `size` of them, from the start, is one tile.

    Along the first axis they are cut into slabs of whole tiles, each slab along the second axis, and so on. An axis on
    which all points are equal (z in the plane) has no part in it.
    """
    order = np.arange(len(points))
    place = np.arange(len(points))
    tile = np.zeros(len(points), np.int64)
    run = max(len(points), 1)  # points in a tile so far: the same in all but the last
    axes = [axis for axis in range(3) if len(points) and np.ptp(points[:, axis]) > 0]
    for done, axis in enumerate(axes):
        order = order[np.lexsort((points[order, axis], tile))]
        tiles = math.ceil(run / size)
        slabs = math.ceil(tiles ** (1 / (len(axes) - done)))
        cut = math.ceil(tiles / slabs) * size
        tile = tile * slabs + (place - tile_start(tile, place)) // cut
        run = cut
    return order


def tile_start(tile: Array, place: Array) -> Array:
    """Where each point's tile begins, of points in order of their tiles."""
    first = np.ones(len(tile), np.bool_)
    first[1:] = tile[1:] != tile[:-1]
    return np.maximum.accumulate(np.where(first, place, 0))


@kernel
def pack_leaves(state, order, fill, first_seq, offsets, terms, weights, begin):
    """Make leaves of the rows `order[begin:]`, `fill` a leaf; returns the first place that found no room in the arena.

    There are enough nodes; the ring holds the points and numbers of words.
    """
    meta, nodes, postings, messages = state.meta, state.nodes, state.postings, state.messages
    while begin < order.shape[0]:
        end = min(begin + fill, order.shape[0])
        words = 0
        for i in range(begin, end):
            words += offsets[order[i] + 1] - offsets[order[i]]
        bits = bits_for(words)
        if postings.end[0] + (1 << bits) > postings.term.shape[0]:
            meta[NEED_POSTINGS] = 1 << bits
            return begin
        leaf = take_node(meta, nodes, 0)
        give_table(nodes, postings, leaf, bits)
        for slot in range(end - begin):
            row = order[begin + slot]
            hold(nodes, messages, leaf, slot, first_seq + row)
            point = messages.point[(first_seq + row) & (messages.leaf.shape[0] - 1)]
            for axis in range(3):
                nodes.box[leaf, axis] = min(nodes.box[leaf, axis], point[axis])
                nodes.box[leaf, axis + 3] = max(nodes.box[leaf, axis + 3], point[axis])
            for i in range(offsets[row], offsets[row + 1]):
                drop_in(postings, nodes.table[leaf], bits, terms[i], slot, weights[i])
        nodes.used[leaf] = words
        begin = end
    return begin


@kernel
def pack_level(state, children, fill, begin):
    """Make parents of the nodes `children[begin:]`, `fill` a parent; returns as `pack_leaves` does."""
    meta, nodes, postings = state.meta, state.nodes, state.postings
    while begin < children.shape[0]:
        end = min(begin + fill, children.shape[0])
        words = 0
        for i in range(begin, end):
            words += distinct_terms(nodes, postings, children[i])
        bits = bits_for(words)
        if postings.end[0] + (1 << bits) > postings.term.shape[0]:
            meta[NEED_POSTINGS] = 1 << bits
            return begin
        node = take_node(meta, nodes, nodes.level[children[begin]] + 1)
        give_table(nodes, postings, node, bits)
        for i in range(begin, end):
            adopt(nodes, postings, node, i - begin, children[i])
        begin = end
    return begin
