"""The invariants of an IR-tree, checked the slow and plain way."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearcast.baselines.irtree_inverted import bits_for, home
from nearcast.baselines.irtree_state import (
    EMPTY,
    FIRST,
    NEXT,
    NODE_END,
    NODE_FREE,
    PENDING,
    ROOT,
    THIN,
    Nodes,
    Postings,
    State,
)

Inverted = dict[int, dict[int, float]]  # term -> slot -> weight


def check(state: State) -> None:
    """Boxes and maxima are exact, tables can be read, every live message with words is in one leaf, nothing leaks."""
    meta, nodes, postings, messages = state
    _hold(meta[PENDING] == -1 and meta[THIN] == -1, "a split or a merge is pending")
    blocks: list[tuple[int, int]] = []
    held: list[int] = []
    live_nodes = _walk(state, blocks, held)
    mask = len(messages.leaf) - 1
    live = range(int(meta[FIRST]), int(meta[NEXT]))
    _hold(len(live) <= len(messages.leaf), "the ring is too small")
    wordy = [seq for seq in live if messages.words[seq & mask] > 0]
    _hold(sorted(held) == wordy, "the leaves hold other messages than the live ones with words")
    for seq in set(live) - set(wordy):
        _hold(messages.leaf[seq & mask] == -1, f"message {seq} has no words but a leaf")

    freed = 0
    node = int(meta[NODE_FREE])
    while node >= 0:
        _hold(nodes.level[node] == -1, f"node {node} is free but has a level")
        freed += 1
        node = int(nodes.parent[node])
    _hold(live_nodes + freed == meta[NODE_END], "a node is neither in the tree nor free")

    for bits, first in enumerate(postings.free):
        block = int(first)
        while block >= 0:
            blocks.append((block, 1 << bits))
            following = postings.term[block]
            block = -1 if following == EMPTY else int(following)
    end = 0
    for begin, size in sorted(blocks):
        _hold(begin == end, f"the arena's blocks overlap or leave a gap at {end}")
        end = begin + size
    _hold(end == postings.end[0], "the arena's last block is lost")


def _hold(condition: Any, otherwise: str) -> None:
    """An assertion that stays when Python runs with -O."""
    if not condition:
        raise AssertionError(otherwise)


def _walk(state: State, blocks: list[tuple[int, int]], held: list[int]) -> int:
    """Check every node of the tree; collect blocks and messages; returns the number of nodes."""
    nodes, messages = state.nodes, state.messages
    root = int(state.meta[ROOT])
    if root < 0:
        return 0
    _hold(nodes.parent[root] == -1, "the root has a parent")
    _hold(nodes.level[root] == 0 or nodes.size[root] > 1, "the root is one child's only parent")
    todo = [root]
    visited = 0
    while todo:
        node = todo.pop()
        visited += 1
        slots = np.flatnonzero(nodes.child[node] >= 0)
        _hold(0 < len(slots) == nodes.size[node] < nodes.child.shape[1], f"node {node}: count {nodes.size[node]}")
        table = _read_table(nodes, state.postings, node, blocks)
        expected: Inverted = {}
        boxes = []
        for slot in slots:
            child = int(nodes.child[node, slot])
            if nodes.level[node] == 0:
                place = child & (len(messages.leaf) - 1)
                _hold((messages.leaf[place], messages.slot[place]) == (node, slot), f"message {child} is elsewhere")
                words = sum(slot in posting for posting in table.values())
                _hold(words == messages.words[place], f"message {child}: {words} words in its leaf")
                boxes.append(np.tile(messages.point[place], 2))
                held.append(child)
                continue
            _hold((nodes.parent[child], nodes.place[child]) == (node, slot), f"node {child} has another parent")
            _hold(nodes.level[child] == nodes.level[node] - 1, f"node {child} is on the wrong level")
            boxes.append(nodes.box[child])
            for term, posting in _read_table(nodes, state.postings, child, []).items():
                expected.setdefault(term, {})[int(slot)] = max(posting.values())
            todo.append(child)
        corners = np.array(boxes)
        box = np.concatenate([corners[:, :3].min(axis=0), corners[:, 3:].max(axis=0)])
        _hold((box == nodes.box[node]).all(), f"node {node}: its box is not the box of its children")
        if nodes.level[node] > 0:
            _hold(table == expected, f"node {node}: its inverted file is not the maxima of its children's")
        else:
            filled = {slot for posting in table.values() for slot in posting}
            _hold(filled == set(slots.tolist()), f"leaf {node}: words of no message")
    return visited


def _read_table(nodes: Nodes, postings: Postings, node: int, blocks: list[tuple[int, int]]) -> Inverted:
    """A node's inverted file as plain dictionaries, after checking that a search would find each posting."""
    table, bits = int(nodes.table[node]), int(nodes.bits[node])
    size = 1 << bits
    blocks.append((table, size))
    result: Inverted = {}
    count = 0
    for i in range(size):
        term = postings.term[table + i]
        if term == EMPTY:
            continue
        count += 1
        j = int(home(term, bits))
        while j != i:
            _hold(postings.term[table + j] != EMPTY, f"node {node}: a posting of term {term} cannot be reached")
            j = (j + 1) % size
        posting = result.setdefault(int(term), {})
        slot = int(postings.slot[table + i])
        _hold(slot not in posting, f"node {node}: term {term} stands twice for slot {slot}")
        posting[slot] = float(postings.weight[table + i])
    _hold(count == nodes.used[node], f"node {node}: {count} postings, not {nodes.used[node]}")
    _hold(bits_for(count) <= bits, f"node {node}: its table is too full")
    return result
