"""The checkers: they are silent about a sound engine, and each kind of damage is found and named."""

import random
from functools import partial

import numpy as np
import pytest

from nearcast import invariants
from nearcast.engine import Engine
from nearcast.kernels import layout as at
from nearcast.kernels.compact import DEAD
from nearcast.model import last
from nearcast.tuning import Tuning
from support.streams import World

ORDERS = ("blocks", "paper")


@pytest.fixture(params=ORDERS)
def engine(request):
    """An engine with long and short lists, dead postings, sealed segments, thresholds and free chunks."""
    return grown(request.param)


def grown(order, seed=5):
    """The same for every test: damage has to be found wherever it happens to be done."""
    world = World(seed, refusals=False, crowded=150)
    world.window = last(100)
    tuning = Tuning(order=order, cell_limit=20, alpha_groups=2, head_messages=5, segment_messages=70, rank=3)
    engine = world.engine(partial(Engine, tuning=tuning))
    for _ in range(400):
        world.next(list(engine)).on(engine)
    return engine


def found(engine, sentence):
    with pytest.raises(AssertionError, match=sentence):
        invariants.check(engine)


def with_entries(shard, least=2):
    """A row whose buffer has at least so many entries."""
    s = shard.subscriptions
    rows = np.flatnonzero((s.u32[:2000, at.S_NTERMS] > 0) & (s.u32[:2000, at.S_COUNT] >= least))
    return int(random.Random(1).choice(rows.tolist()))


def test_a_sound_engine_passes(engine):
    invariants.check(engine)
    heads = engine._shards[0].postings.lists[: len(engine.vocabulary)]
    assert (heads[:, at.L_CAPACITY] > at.BLOCK).any() and (heads[:, at.L_COUNT] > 0).any()
    assert (heads[:, at.L_CELLS] > 0).any() == (engine.tuning.order == "paper")


@pytest.mark.parametrize(
    ("codes", "column", "sentence"),
    [
        ("eights", at.Q_TASTE, "taste is"),
        ("eights", at.Q_REST, "rest is"),
        ("halves", at.H_NEED, "need is"),
        ("eights", at.Q_FAR, "far is"),
        ("halves", at.H_X, "x is"),
        ("halves", at.H_Z, "z is"),
        ("eights", at.Q_LATER, "number of later terms is"),
        ("words", at.O_LATER, "fingerprint of later terms is"),
    ],
)
def test_a_wrong_posting_is_found(engine, codes, column, sentence):
    postings = engine._shards[0].postings
    long = int(postings.lists[: len(engine.vocabulary), at.L_COUNT].argmax())
    start = int(postings.lists[long, at.L_START])
    for place in range(int(postings.lists[long, at.L_COUNT])):
        block, lane = divmod(start + place, at.BLOCK)
        if postings.halves[block, at.H_NEED + lane] != DEAD:
            break
    getattr(postings, codes)[block, column + lane] ^= 1
    found(engine, sentence)


def test_a_posting_of_somebody_else_is_found(engine):
    shard = engine._shards[0]
    row = with_entries(shard)
    first = int(shard.subscriptions.u32[row, at.S_TERMS])
    shard.subscriptions.terms[first, 2] += 1
    found(engine, "belongs to row|past the end|belongs to two")


def test_a_dead_posting_that_can_be_met_is_found(engine):
    postings = engine._shards[0].postings
    heads = postings.lists[: len(engine.vocabulary)]
    for term in np.flatnonzero(heads[:, at.L_CAPACITY] > at.BLOCK).tolist():
        places = int(heads[term, at.L_START]) + np.arange(int(heads[term, at.L_COUNT]))
        need = postings.halves[places // at.BLOCK, at.H_NEED + places % at.BLOCK]
        if (need == DEAD).any():
            dead = int(places[need == DEAD][0])
            postings.halves[dead // at.BLOCK, at.H_NEED + dead % at.BLOCK] = 100
            found(engine, "belongs to nobody")
            return
    raise AssertionError("the world has no dead posting")


@pytest.mark.parametrize("column", [at.K_TASTE, at.K_REST, at.K_NEED, at.K_FAR, at.K_BOX, at.K_BOX + 3, at.K_LATER])
def test_a_header_that_is_too_narrow_is_found(column):
    engine = grown("blocks")
    postings = engine._shards[0].postings
    long = int(postings.lists[: len(engine.vocabulary), at.L_COUNT].argmax())
    cell, place = divmod(int(postings.lists[long, at.L_START]), at.CELL)
    too_high = column in (at.K_NEED, at.K_FAR) or at.K_BOX <= column < at.K_BOX + 3
    postings.block[cell, column, place // at.BLOCK] = 1e30 if too_high else -1e30
    found(engine, "block of list .* (too low|too high|a box)")


@pytest.mark.parametrize("where", ["group", "rest", "cell", "box", "hole"])
def test_wrong_statistics_of_the_papers_order_are_found(where):
    engine = grown("paper")
    postings = engine._shards[0].postings
    heads = postings.lists[: len(engine.vocabulary)].astype(np.int64)
    head = heads[np.where(heads[:, at.L_CELLS] > 0, heads[:, at.L_PACKED], 0).argmax()]
    row = int(head[at.L_ROWS])
    group = row + int(head[at.L_CELLS])
    if where == "group":
        postings.rows_f32[group, at.G_THETA] = 1e30
    elif where == "rest":
        postings.suffix[int(head[at.L_START]) // at.BLOCK, at.G_MAX] = -1.0
    elif where == "cell":
        postings.rows_f32[row, at.D_SPATIAL] = 1e30
    elif where == "box":
        postings.rows_f32[row, 0] = 1e30
    else:
        postings.rows_u32[group, at.G_END] += 1
    sentences = {"cell": "where its cell is skipped", "box": "outside of its cell", "hole": "do not cover"}
    found(engine, sentences.get(where, "is not bounded by"))


@pytest.mark.parametrize("part", ["score", "stamp", "counter", "count", "threshold"])
def test_a_wrong_buffer_is_found(engine, part):
    shard = engine._shards[0]
    s = shard.subscriptions
    row = with_entries(shard)
    scores = int(s.u32[row, at.S_BUFFER]) * 4
    capacity = int(s.u32[row, at.S_CAPACITY])
    if part == "score":
        s.buffer_f32[scores] += np.float32(1e-3)
    elif part == "stamp":
        s.buffer_u32[scores + capacity] -= 1
    elif part == "counter":
        s.buffer_u16[2 * (scores + 2 * capacity)] += 1
    elif part == "count":
        s.u32[row, at.S_COUNT] -= 1
        s.control[at.C_ENTRIES] -= 1
    else:
        s.control[at.C_ENTRIES] += 1
    found(engine, "the buffer of row|counts .* entries|after its oldest")


def test_a_wrong_calendar_is_found(engine):
    shard = engine._shards[0]
    s = shard.subscriptions
    row = with_entries(shard)
    next_row = int(s.u32[row, at.S_NEXT])
    s.u32[row, at.S_NEXT] = row
    found(engine, "linked twice")
    s.u32[row, at.S_NEXT] = next_row
    invariants.check(engine)
    first = int(engine._messages.control[at.A_FIRST])
    live = [seq for seq in range(first, engine.newest_seq + 1) if s.due[seq & at.SLOT_MASK]]
    s.due[live[0] & at.SLOT_MASK] = 0
    found(engine, "in no calendar list")


def test_a_row_that_is_linked_too_late_is_found(engine):
    s = engine._shards[0].subscriptions
    first, newest = int(engine._messages.control[at.A_FIRST]), engine.newest_seq
    live = [seq for seq in range(first, newest) if s.due[seq & at.SLOT_MASK]]
    assert not s.due[newest & at.SLOT_MASK]
    s.due[newest & at.SLOT_MASK] = s.due[live[0] & at.SLOT_MASK]
    s.due[live[0] & at.SLOT_MASK] = 0
    found(engine, "after its oldest entry")


@pytest.mark.parametrize("part", ["head", "run", "chain", "block"])
def test_a_wrong_message_index_is_found(engine, part):
    index = engine._index
    terms = len(engine.vocabulary)
    tier = 1 if (index.last[:terms, 2] > 0).any() else 0
    run = int(index.last[:terms, 1 + tier].max()) - 1
    if part == "head":
        assert index.control[at.I_HEAD_USED]
        index.head[int(index.control[at.I_HEAD_USED]) - 1, 1] -= 1
    elif part == "run":
        index.weights[tier, int(index.runs[tier, run, at.R_FIRST]), 1] *= 0.5
    elif part == "chain":
        index.last[:terms, 1 + tier] = 0
    else:
        runs = index.runs[1, : int(index.control[at.I_RUNS + 1])]
        live = runs[:, at.R_NEWEST] >= int(engine._messages.control[at.A_FIRST])
        long = np.flatnonzero(live & (runs[:, at.R_COUNT] > at.BLOCK))
        assert len(long)
        block = int(index.runs[1, int(long[-1]), at.R_FIRST]) // at.BLOCK
        index.block[1, block, 7] = 0.0
    found(engine, "message index finds|the run of term|the head's chain")


@pytest.mark.parametrize("kind", ["buffers", "terms", "postings", "lost"])
def test_a_chunk_that_is_given_out_twice_is_found(engine, kind):
    shard = engine._shards[0]
    s, p = shard.subscriptions, shard.postings
    row = with_entries(shard)
    if kind == "buffers":
        s.free[0, 1] = int(s.u32[row, at.S_BUFFER]) + 1
    elif kind == "terms":
        s.free[1, 0] = int(s.u32[row, at.S_TERMS]) + 1
    elif kind == "postings":
        heads = p.lists[: len(engine.vocabulary)]
        p.free[0, 5] = int(heads[heads[:, at.L_COUNT].argmax(), at.L_START]) + 1
    else:
        s.control[at.C_TERMS_USED] += 1
    found(engine, "overlap|twice|in use and free|nobody has|chunks end at|from nowhere")
