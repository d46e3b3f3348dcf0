"""The IR-tree against brute force, to the bit and with ties, with its invariants checked after every step."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import pytest

from nearcast.baselines.irtree import IRTree
from nearcast.baselines.irtree_pack import tiled
from nearcast.errors import InvalidInput
from nearcast.kernels.score import blend, spatial_similarity, textual_similarity

STEPS = 12 if numba.config.DISABLE_JIT or numba.config.BOUNDSCHECK else 120
SPACES = {"plane": (0.0, 15.0), "earth": (6371.0088, 9000.0), "near earth": (6371.0088, 30.0)}


class Vector(NamedTuple):
    terms: np.ndarray
    weights: np.ndarray


class Message(NamedTuple):
    point: np.ndarray
    words: Vector


class World:
    """Random points and words, few enough of each that places and scores are often equal; and brute force."""

    def __init__(self, rng: np.random.Generator, space: str, places: int = 12, vocabulary: int = 15) -> None:
        self.rng = rng
        self.radius, self.max_dist = SPACES[space]
        self.vocabulary = vocabulary
        if space == "plane":
            self.places = np.c_[rng.integers(0, 10, (places, 2)), np.zeros(places)].astype(np.float64)
        else:
            spread = 180.0 if space == "earth" else 0.1
            lon = np.radians(180.0 + rng.uniform(-spread, spread, places))  # around the antimeridian
            lat = np.radians(rng.uniform(-spread, spread, places) / 2)
            unit = np.c_[np.cos(lon) * np.cos(lat), np.sin(lon) * np.cos(lat), np.sin(lat)]
            self.places = self.radius * unit

    def vector(self, most: int = 5, least: int = 0) -> Vector:
        count = int(self.rng.integers(least, most + 1))
        terms = np.sort(self.rng.choice(self.vocabulary, count, replace=False))[::-1].astype(np.uint32)
        raw = self.rng.integers(1, 4, count)
        weights = np.rint(raw / max(np.sqrt((raw * raw).sum()), 1) * 2**24) / 2**24
        return Vector(terms, weights.astype(np.float32))

    def message(self) -> Message:
        return Message(self.places[self.rng.integers(len(self.places))], self.vector())

    def score(self, point: np.ndarray, words: Vector, alpha: np.float32, message: Message) -> np.float32 | None:
        other = message.words
        ends = (0, len(words.terms), other.terms, other.weights, 0, len(other.terms))
        tsim = textual_similarity(words.terms, words.weights, *ends)
        if tsim < 0:
            return None
        ssim = spatial_similarity(self.radius, self.max_dist, *point, *message.point)
        return np.float32(blend(alpha, ssim, tsim))


def add(tree: IRTree, first: int, messages: list[Message]) -> None:
    lengths = [len(message.words.terms) for message in messages]
    tree.add(
        np.arange(first, first + len(messages)),
        np.array([message.point for message in messages]).reshape(-1, 3),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([message.words.terms for message in messages]),
        np.concatenate([message.words.weights for message in messages]),
    )


def brute(world: World, live: dict[int, Message], point, words, alpha, rank, first, last):
    """The answer by the definition: all that match, best first, cut at the rank-th score, ties kept."""
    scored = []
    for seq, message in live.items():
        score = world.score(point, words, alpha, message) if first <= seq <= last else None
        if score is not None:
            scored.append((-score, -seq))
    scored.sort()
    if len(scored) > rank:
        theta = scored[rank - 1][0]
        scored = [entry for entry in scored if entry[0] <= theta]
    return [(-seq, -score) for score, seq in scored]


def compare_search(world: World, tree: IRTree, live: dict[int, Message]) -> int:
    """One random search, by the tree and by brute force; how many messages it found."""
    rng = world.rng
    point = world.places[rng.integers(len(world.places))] + rng.integers(0, 2) * np.array([0.5, 0.25, 0.0])
    words = world.vector(least=1)
    alpha = np.float32(rng.choice([0.0, 1.0, 0.5, rng.random()]))
    rank = int(rng.choice([1, 2, 5, 20, 1000]))
    ends = sorted(rng.integers(min(live, default=0) - 2, max(live, default=0) + 3, 2).tolist())
    first, last = ends if rng.random() < 0.5 else (0, 1 << 40)
    seqs, scores = tree.search(point, *words, alpha, rank, first, last)
    assert (seqs.dtype, scores.dtype) == (np.int64, np.float32)
    found = list(zip(seqs.tolist(), scores, strict=True))
    assert found == brute(world, live, point, words, alpha, rank, first, last)
    return len(found)


@pytest.mark.lanes
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(("fanout", "pack_from"), [(4, 1 << 40), (4, 20), (7, 1)])
def test_equals_brute_force_after_every_step(rng: np.random.Generator, space: str, fanout: int, pack_from: int) -> None:
    world = World(rng, space)
    tree = IRTree(world.radius, world.max_dist, fanout, pack_from)
    live: dict[int, Message] = {}
    following = found = 0
    for _ in range(STEPS):
        batch = [world.message() for _ in range(int(rng.choice([1, 1, 2, 7, 40])))]
        add(tree, following, batch)
        live |= enumerate(batch, following)
        following += len(batch)
        tree.check()
        found += compare_search(world, tree, live)
        target = int(rng.choice([0, 10, 30, 100, 100]))  # at times the index is emptied
        before = max(following - target, 0)
        tree.expire(before)
        live = {seq: message for seq, message in live.items() if seq >= before}
        assert len(tree) == len(live)
        tree.check()
        found += compare_search(world, tree, live)
    assert found > STEPS  # the searches did find something


def test_large_packed_and_inserted_trees_agree_with_brute_force(rng: np.random.Generator) -> None:
    count = 300 if numba.config.DISABLE_JIT else 3000
    world = World(rng, "plane", places=count // 3, vocabulary=200)
    messages = [world.message() for _ in range(2 * count)]
    packed, inserted = (IRTree(world.radius, world.max_dist, 8, pack_from) for pack_from in (1, 1 << 40))
    for tree in (packed, inserted):
        add(tree, 5, messages[:count])
        tree.check()
        add(tree, 5 + count, messages[count:])
        tree.expire(5 + count // 2)
        tree.check()
    live = dict(enumerate(messages[count // 2 :], 5 + count // 2))
    for tree in (packed, inserted):
        assert sum(compare_search(world, tree, live) for _ in range(20)) > 20


@pytest.mark.lanes
def test_a_shrunken_tree_is_condensed(rng: np.random.Generator) -> None:
    tree = IRTree(0.0, 15.0, fanout=16)
    word = Vector(np.array([3], np.uint32), np.ones(1, np.float32))
    add(tree, 0, [Message(np.array([*rng.random(2), 0.0]), word) for _ in range(600)])
    tree.expire(560)
    tree.check()
    seqs, _ = tree.search(np.zeros(3), *word, np.float32(0.5), 1000, 0, 1 << 40)
    assert len(seqs) == len(tree) == 40
    assert tree.work == (1, tree.work.nodes_visited, 40)
    assert tree.work.nodes_visited < 20  # this search visits all: without merging, nearly one node a message


def test_search_visits_few_nodes(rng: np.random.Generator) -> None:
    world = World(rng, "plane", places=2000, vocabulary=300)
    tree = IRTree(world.radius, world.max_dist, fanout=8, pack_from=100)
    add(tree, 0, [world.message() for _ in range(2000)])
    words = Vector(np.array([7], np.uint32), np.ones(1, np.float32))
    everything, _ = tree.search(world.places[0], *words, np.float32(0.5), 10**6, 0, 1 << 40)
    thorough = tree.work
    best, _ = tree.search(world.places[0], *words, np.float32(0.5), 1, 0, 1 << 40)
    assert tree.work.searches == 2
    assert best.tolist() == everything[: len(best)].tolist()
    assert thorough.entries_scored == len(everything) > 10
    assert tree.work.nodes_visited - thorough.nodes_visited < thorough.nodes_visited / 2


@pytest.mark.lanes
def test_ties_at_the_end_are_all_returned_newest_first() -> None:
    tree = IRTree(0.0, 10.0, fanout=4)
    same = Message(np.zeros(3), Vector(np.array([1], np.uint32), np.ones(1, np.float32)))
    worse = Message(np.array([5.0, 0.0, 0.0]), same.words)
    add(tree, 0, [same, worse] * 10)
    seqs, scores = tree.search(np.zeros(3), *same.words, np.float32(0.5), 3, 0, 99)
    assert seqs.tolist() == list(range(18, -1, -2))
    assert set(scores.tolist()) == {1.0}
    seqs, scores = tree.search(np.zeros(3), *same.words, np.float32(0.5), 2, 10, 13)
    assert (seqs.tolist(), scores.tolist()) == ([12, 10], [1.0, 1.0])
    seqs, scores = tree.search(np.zeros(3), *same.words, np.float32(0.5), 3, 10, 13)
    assert (seqs.tolist(), scores.tolist()) == ([12, 10, 13, 11], [1.0, 1.0, 0.75, 0.75])


@pytest.mark.lanes
def test_an_empty_index_and_messages_without_words() -> None:
    tree = IRTree(0.0, 10.0, fanout=4, pack_from=3)
    words = Vector(np.array([1], np.uint32), np.ones(1, np.float32))
    silent = Message(np.zeros(3), Vector(np.zeros(0, np.uint32), np.zeros(0, np.float32)))
    for first in (0, 1000):
        tree.expire(5000)
        tree.check()
        assert len(tree) == 0
        assert tree.search(np.zeros(3), *words, np.float32(0.5), 3, 0, 1 << 40)[0].tolist() == []
        add(tree, first, [silent] * 5)  # bulk loaded: nothing to index
        add(tree, first + 5, [silent])
        tree.check()
        assert len(tree) == 6
        assert tree.search(np.zeros(3), *words, np.float32(0.5), 3, 0, 1 << 40)[0].tolist() == []
        add(tree, first + 6, [Message(np.zeros(3), words), silent])
        tree.check()
        assert tree.search(np.zeros(3), *words, np.float32(0.5), 3, 0, 1 << 40)[0].tolist() == [first + 6]
        tree.add([], np.zeros((0, 3)), [0], [], [])
        assert len(tree) == 8


def test_very_long_messages(rng: np.random.Generator) -> None:
    world = World(rng, "plane", vocabulary=6000)
    tree = IRTree(world.radius, world.max_dist, fanout=4)
    live: dict[int, Message] = {}
    for seq in range(12):
        most = 4096 if seq % 4 == 0 else 2
        live[seq] = Message(world.places[seq % 12], world.vector(most, least=most - 1))
        add(tree, seq, [live[seq]])
        tree.expire(seq - 7)
        live.pop(seq - 8, None)
        tree.check()
        compare_search(world, tree, live)
    tree.expire(12)
    tree.check()


def test_the_same_operations_in_other_batches_give_the_same_answers(rng: np.random.Generator) -> None:
    world = World(rng, "earth")
    messages = [world.message() for _ in range(150)]
    whole, single = (IRTree(world.radius, world.max_dist, 5) for _ in range(2))
    add(whole, 0, messages)
    for seq, message in enumerate(messages):
        add(single, seq, [message])
    for _ in range(20):
        point, words = world.places[rng.integers(12)], world.vector(least=1)
        a, b = (tree.search(point, *words, np.float32(0.3), 7, 0, 999) for tree in (whole, single))
        assert a[0].tolist() == b[0].tolist()
        assert a[1].tobytes() == b[1].tobytes()


def test_memory_is_used_again(rng: np.random.Generator) -> None:
    world = World(rng, "plane")
    tree = IRTree(world.radius, world.max_dist, fanout=6)
    sizes = []
    for first in range(0, 2000, 50):
        add(tree, first, [world.message() for _ in range(50)])
        tree.expire(first - 50)
        sizes.append(tree.nbytes())
    assert sizes[-1] == sizes[len(sizes) // 2]
    tree.check()


def _damage_box(tree: IRTree) -> None:
    tree._state.nodes.box[tree._state.meta[0], 3] += 1


def _damage_weight(tree: IRTree) -> None:
    nodes, postings = tree._state.nodes, tree._state.postings
    table = nodes.table[tree._state.meta[0]]
    places = np.flatnonzero(postings.term[table : table + 16] != 0xFFFFFFFF)
    postings.weight[table + places[0]] *= np.float32(0.5)


def _damage_message(tree: IRTree) -> None:
    tree._state.messages.leaf[3] += 1


def _damage_block(tree: IRTree) -> None:
    tree._state.postings.end[0] += 16


def _damage_count(tree: IRTree) -> None:
    tree._state.nodes.used[tree._state.meta[0]] += 1


@pytest.mark.parametrize("damage", [_damage_box, _damage_weight, _damage_message, _damage_block, _damage_count])
def test_the_checker_can_fail(rng: np.random.Generator, damage) -> None:
    world = World(rng, "plane")
    tree = IRTree(world.radius, world.max_dist, fanout=4)
    add(tree, 0, [Message(world.places[i % 12], world.vector(least=1)) for i in range(40)])
    tree.check()
    damage(tree)
    with pytest.raises(AssertionError):
        tree.check()


@pytest.mark.lanes
def test_refuses_what_it_cannot_index_and_stays_as_it_was() -> None:
    with pytest.raises(InvalidInput, match="fanout"):
        IRTree(0.0, 1.0, fanout=3)
    tree = IRTree(0.0, 10.0)
    point, one = np.zeros((1, 3)), np.ones(1, np.float32)
    tree.add([7], point, [0, 1], [2], one)
    for seqs, points, offsets, terms, weights, field in [
        ([9], point, [0, 1], [2], one, "seqs"),
        ([8, 10], np.zeros((2, 3)), [0, 1, 1], [2], one, "seqs"),
        ([8], np.zeros((2, 3)), [0, 1], [2], one, "points"),
        ([8], point, [0, 2], [2], one, "offsets"),
        ([8], point, [1, 0], [2], one, "offsets"),
        ([8], point, [0, 1], [0xFFFFFFFF], one, "terms"),
    ]:
        with pytest.raises(InvalidInput) as error:
            tree.add(seqs, points, offsets, terms, weights)
        assert error.value.field == field
        assert len(tree) == 1
        tree.check()
    with pytest.raises(InvalidInput, match="rank"):
        tree.search(np.zeros(3), [2], one, np.float32(0.5), 0, 0, 9)


@pytest.mark.lanes
@pytest.mark.parametrize("count", [0, 1, 6, 7, 500])
@pytest.mark.parametrize("axes", [0, 1, 2, 3])
def test_tiles_are_compact(rng: np.random.Generator, count: int, axes: int) -> None:
    points = rng.random((count, 3))
    points[:, axes:] = 4.0
    order = tiled(points, 6)
    assert sorted(order.tolist()) == list(range(count))
    if count == 500 and axes:
        spans = [np.ptp(points[order[i : i + 6]], axis=0).sum() for i in range(0, count, 6)]
        unsorted = [np.ptp(points[i : i + 6], axis=0).sum() for i in range(0, count, 6)]
        assert np.mean(spans) < 0.6 * np.mean(unsorted)
