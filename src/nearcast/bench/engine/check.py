"""The lists of some subscriptions by brute force over the live window, beside what the engine says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from nearcast import capture
from nearcast.engine import Engine
from nearcast.kernels import layout
from nearcast.kernels.brute import rank_all

List = list[tuple[int, float]]
"""Messages and scores, best first."""


def sample(engine: Engine, count: int, seed: int) -> NDArray[np.int64]:
    """The slots of so many subscriptions, at random."""
    slots = engine._registry.slots()
    rng = np.random.default_rng([seed, count])
    return rng.choice(slots, min(count, len(slots)), replace=False)


def wrong_lists(engine: Engine, slots: NDArray[np.int64]) -> list[str]:
    """What is wrong with the lists of these subscriptions, a line for each wrong one."""
    problems = []
    for id, expected in zip(engine._registry.ids(slots), exact_lists(engine, slots), strict=True):
        got = [(ranked.seq, ranked.score) for ranked in engine.top(id)]
        if got != expected:
            place = next((i for i, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), None)
            if place is None:
                problems.append(f"{id}: a list of {len(got)} messages, not {len(expected)}")
            else:
                problems.append(f"{id}: {got[place]} at rank {place + 1}, not {expected[place]}")
    return problems


def exact_lists(engine: Engine, slots: NDArray[np.int64]) -> list[List]:
    """Every subscription against every live message, with the shared score function and no index."""
    m = capture.save_messages(engine._messages)
    s = capture.save_subscriptions(engine._shards, engine._home[slots], engine._row[slots], engine.newest_seq)
    first_seq = int(engine._messages.control[layout.A_FIRST])
    ks = s["ks"].astype(np.int32)
    seqs = np.full((len(slots), int(ks.max(initial=1))), -1, np.int64)
    scores = np.zeros(seqs.shape, np.float32)
    counts = np.zeros(len(slots), np.int64)

    def rank(part: slice) -> None:
        spans = s["offsets"][part.start : part.stop + 1]
        rank_all(
            engine.space.radius, engine.space.max_dist,
            s["points"][part], s["alphas"][part], ks[part], spans, s["terms"], s["weights"],
            m["points"], m["offsets"], m["terms"], m["weights"], 0, first_seq, seqs[part], scores[part], counts[part],
        )  # fmt: skip

    threads = len(engine._shards)
    cuts = np.linspace(0, len(slots), 4 * threads + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(rank, map(slice, cuts[:-1], cuts[1:])))
    lists = zip(seqs, scores, counts.tolist(), strict=True)
    return [list(zip(q[:n].tolist(), c[:n].tolist(), strict=True)) for q, c, n in lists]
