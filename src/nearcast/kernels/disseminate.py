"""Message dissemination, term at a time, filter then verify (paper 5.4, Algorithm 1).

Keywords are visited rare first. A posting is tested as if its keyword were the first common one, which bounds what the
rest can add by the vectors' tails; whoever passes is verified by the exact score. So no candidate map of partial scores
is kept (the paper's R): a pair is decided at its first common keyword, whichever way the others go.
"""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.clock import prefetch, ticks
from nearcast.kernels.compact import grid_step, on_grid
from nearcast.kernels.first_test import scan
from nearcast.kernels.jit import helper, hot_routine
from nearcast.kernels.layout import (
    BLOCK,
    BLOCK_BYTES,
    CELL,
    H_Z,
    K_SIZE,
    L_CAPACITY,
    L_CELLS,
    L_COUNT,
    L_START,
    M_LIGHT,
    M_MOST,
    M_MOST_AFTER,
    M_REST,
    M_TOTAL,
    M_TOTAL_AFTER,
    M_WEIGHT,
    N_AFFECTED,
    N_LISTS,
    N_MESSAGES,
    N_REPEATED,
    N_VERIFIED,
    S_ALPHA,
    S_BUFFER,
    S_CAPACITY,
    S_NTERMS,
    S_TERMS,
    S_THETA,
    S_X,
    S_Y,
    S_Z,
    T_FILTER,
    T_VERIFY,
    V_DEPTH,
    V_GRID,
    V_MAX_DIST,
    V_POINT,
    V_SLACK,
    V_STEP,
    V_X,
    W_POINT,
)
from nearcast.kernels.score import blend, common_with, enter_words, spatial_similarity
from nearcast.kernels.signatures import fingerprint, short_bit
from nearcast.kernels.visit import note_range, visit_blocks, visit_cells

ONE = np.float32(1.0)
ZERO = np.float32(0.0)


@helper
def sight(scratch, policy, m_x, m_y, m_z):
    """The message's side of the tests of place, and their settings."""
    view = scratch.sight
    world = policy.world
    view[V_X], view[V_X + 1], view[V_X + 2] = m_x, m_y, m_z
    view[V_MAX_DIST] = world.max_dist
    view[V_SLACK] = policy.slack
    view[V_POINT] = ONE if policy.switches[W_POINT] else ZERO
    view[V_GRID], view[V_GRID + 1] = on_grid(world, m_x), on_grid(world, m_y)
    view[V_GRID + 2] = on_grid(world, m_z)
    view[V_STEP] = grid_step(world) / world.max_dist
    view[V_DEPTH] = ONE if world.radius > 0.0 else ZERO


@helper
def read_words(scratch, m_terms, m_weights, begin, end):
    """The message's side of the tests of text, from its last word to its first (Algorithm 1's first loop).

    A word is light if it has less than half of its equal share of the vector.
    """
    n = end - begin
    scratch.word_bits[n] = 0
    scratch.heavy_bits[n] = 0
    squares, total, most, light = 0.0, 0.0, 0.0, 0.0
    for j in range(n - 1, -1, -1):
        weight = np.float64(m_weights[begin + j])
        keys = scratch.word_keys[j]
        keys[M_WEIGHT] = weight
        keys[M_TOTAL_AFTER] = total
        keys[M_MOST_AFTER] = most
        keys[M_REST] = math.sqrt(squares)
        keys[M_LIGHT] = math.sqrt(light)
        square = weight * weight
        total += weight
        most = max(most, weight)
        keys[M_MOST] = most
        keys[M_TOTAL] = total
        squares += square
        bit = short_bit(m_terms[begin + j])
        scratch.word_bits[j] = scratch.word_bits[j + 1] | bit
        scratch.heavy_bits[j] = scratch.heavy_bits[j + 1]
        if 2.0 * n * square < 1.0:
            light += square
        else:
            scratch.heavy_bits[j] |= bit
    for each in range(256):
        scratch.print_heads[each] = 0
    for j in range(n):
        each = fingerprint(m_terms[begin + j])
        scratch.print_next[j] = scratch.print_heads[each]
        scratch.print_heads[each] = j + 1


PIECES_AHEAD = 6
"""Blocks between asking memory for one and testing it."""

Z_LINE = H_Z // BLOCK
"""The cache line of a block that holds third coordinates, which are all the same on a plane."""


@helper
def ask_for_block(p, block, flat):
    """Prefetch a block of postings."""
    for line in range(BLOCK_BYTES // 64):
        if line != Z_LINE or not flat:
            prefetch(p.words_flat, block * (BLOCK_BYTES // 4) + (line << 4))


@helper
def ask_for_list(p, head):
    """Prefetch what is read first of a list: its headers, or its postings if there are few."""
    start, count = np.int64(head[L_START]), np.int64(head[L_COUNT])
    if np.int64(head[L_CAPACITY]) > BLOCK:
        if np.int64(head[L_CAPACITY]) >= CELL:
            prefetch(p.cell_flat, (start // CELL) << 4)
        lane = start // BLOCK % BLOCK
        for row in range(K_SIZE):
            prefetch(p.block_flat, (start // CELL * K_SIZE + row) * BLOCK + lane)
    elif count > 0:
        ask_for_block(p, start // BLOCK, False)


@hot_routine
def filter_candidates(postings, scratch, policy, m_x, m_y, m_z, m_terms, m_weights, begin, end, counters):
    """Algorithm 1 up to its last line: postings of the subscriptions that this message may affect."""
    p = postings
    n = end - begin
    for j in range(n):
        prefetch(p.starts, np.int64(m_terms[begin + j]))
    sight(scratch, policy, m_x, m_y, m_z)
    read_words(scratch, m_terms, m_weights, begin, end)
    for j in range(n):
        ask_for_list(p, p.lists[m_terms[begin + j]])

    pieces = 0
    for j in range(n):
        head = p.lists[m_terms[begin + j]]
        count = np.int64(head[L_COUNT])
        if count == 0:
            continue
        counters[N_LISTS] += 1
        if head[L_CELLS] > 0:
            pieces = visit_cells(p, scratch, policy.switches, policy.margin, head, j, pieces, counters)
        elif np.int64(head[L_CAPACITY]) > BLOCK:
            pieces = visit_blocks(p, scratch, policy.switches, head, j, pieces, counters)
        else:
            start = np.int64(head[L_START])
            pieces = note_range(scratch, pieces, start, start + count, j, ZERO, ZERO)

    found = 0
    for piece in range(-PIECES_AHEAD, pieces):
        if piece + PIECES_AHEAD < pieces:
            ask_for_block(p, scratch.pieces[piece + PIECES_AHEAD, 0] // BLOCK, scratch.sight[V_DEPTH] == ZERO)
        if piece >= 0:
            found = scan(
                p, scratch, policy.switches, scratch.pieces[piece, 2], scratch.pieces[piece, 0],
                scratch.pieces[piece, 1], scratch.distances[piece, 0], scratch.distances[piece, 1], found, counters,
            )  # fmt: skip
    return found


AHEAD = 6
"""Candidates between asking for a row, asking for its terms, and reading both."""


@helper
def verify(subscriptions, postings, scratch, world, found, m_x, m_y, m_z, m_terms, m_weights, begin, end, counters):
    """The last line of Algorithm 1: those whose exact score reaches their threshold, with their scores.

    A candidate counts where its posting's keyword is the first common one: there, and only there, each pair is decided.
    """
    s = subscriptions
    shift = enter_words(scratch.word_places, m_terms, begin, end)
    hits = 0
    repeated = 0
    for i in range(-2 * AHEAD, found):
        if i + 2 * AHEAD < found:
            row = postings.owner[scratch.candidates[i + 2 * AHEAD, 0]]
            scratch.candidates[i + 2 * AHEAD, 0] = row
            prefetch(s.flat, np.int64(row) * 16)
        if 0 <= i + AHEAD < found:
            prefetch(s.term_ids, np.int64(s.u32[scratch.candidates[i + AHEAD, 0], S_TERMS]))
        if i < 0:
            continue
        row = scratch.candidates[i, 0]
        first = np.int64(s.u32[row, S_TERMS])
        last = first + np.int64(s.u32[row, S_NTERMS])
        text, earliest = common_with(
            scratch.word_places, shift, s.term_ids, s.term_weights, first, last, m_terms, m_weights, begin,
            scratch.candidates[i, 1],
        )  # fmt: skip
        if earliest != scratch.candidates[i, 1]:
            repeated += 1
            continue
        near = spatial_similarity(
            world.radius, world.max_dist, s.f64[row, S_X], s.f64[row, S_Y], s.f64[row, S_Z], m_x, m_y, m_z
        )
        score = blend(s.f32[row, S_ALPHA], near, text)
        if score >= s.f32[row, S_THETA]:
            at = np.int64(s.u32[row, S_BUFFER]) * 4
            for line in range(0, np.int64(s.u32[row, S_CAPACITY]) * 5 // 2, 16):
                prefetch(s.buffer_u32, at + line)
            scratch.hit_rows[hits] = row
            scratch.hit_scores[hits] = score
            hits += 1
    counters[N_REPEATED] += repeated
    counters[N_VERIFIED] += found - repeated
    counters[N_AFFECTED] += hits
    return hits


@helper
def disseminate(subscriptions, postings, scratch, policy, m_x, m_y, m_z, m_terms, m_weights, begin, end, counters):
    """Algorithm 1: how many subscriptions one message affects; `scratch.hit_rows` and `hit_scores` say which."""
    start = ticks()
    counters[N_MESSAGES] += 1
    found = filter_candidates(postings, scratch, policy, m_x, m_y, m_z, m_terms, m_weights, begin, end, counters)
    filtered = ticks()
    hits = verify(
        subscriptions, postings, scratch, policy.world, found, m_x, m_y, m_z, m_terms, m_weights, begin, end, counters
    )
    counters[T_FILTER] += filtered - start
    counters[T_VERIFY] += ticks() - filtered
    return hits
