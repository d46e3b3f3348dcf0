"""The window and its index: every word of every live message is found exactly once over head, small and large runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nearcast import capture
from nearcast.invariants.tables import Array, require, short_bits
from nearcast.kernels import layout as at
from nearcast.kernels.layout import BLOCK, SLOT_MASK, MessageIndex, Messages


class LiveMessages(NamedTuple):
    """Messages first..end-1 with their vectors."""

    first: int
    end: int
    points: Array
    offsets: Array
    terms: Array
    weights: Array


def live_messages(messages: Messages) -> LiveMessages:
    """The live window as columns."""
    c = capture.save_messages(messages)
    first, end = int(messages.control[at.A_FIRST]), int(messages.control[at.A_NEXT])
    return LiveMessages(first, end, c["points"], c["offsets"], c["terms"], c["weights"])


def seqs_of(stamps: Array, newest: int) -> Array:
    """The messages of stamps."""
    seqs: Array = newest - ((newest - stamps.astype(np.int64)) & 0xFFFFFFFF)
    return seqs


def check(live: LiveMessages, messages: Messages, index: MessageIndex, words: int) -> None:
    """Compare what the index finds with what the messages have."""
    control = index.control
    assert live.first <= live.end, f"the window begins at {live.first} and ends at {live.end}"
    assert control[at.I_SMALL_FIRST] <= control[at.I_HEAD_FIRST] <= live.end, "the tiers of the index are out of order"
    counts = np.diff(live.offsets)
    seqs = np.repeat(np.arange(live.first, live.end), counts)
    signatures = [np.bitwise_or.reduce(short_bits(live.terms[a:b])) if b > a else 0 for a, b in spans(live.offsets)]
    expected = rows(live.terms, seqs, live.weights, np.repeat(np.array(signatures, np.int64), counts))
    found = [*head_rows(live, index, words, signatures)]
    for tier in range(2):
        found += run_rows(live, messages, index, tier, words)
    got = np.concatenate(found) if found else np.zeros((0, 4))
    got = got[np.lexsort(got.T[::-1])]
    expected = expected[np.lexsort(expected.T[::-1])]
    assert len(got) == len(expected), (
        f"the message index finds {len(got)} live postings, the messages have {len(expected)}"
    )
    right = (got == expected).all(axis=1)
    require(right, "the message index finds (term, message, weight, signature) {}, where {} is expected", got, expected)


def spans(offsets: Array) -> Iterator[tuple[int, int]]:
    return zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)


def rows(terms: Array, seqs: Array, weights: Array, signatures: Array) -> Array:
    """One row a posting; float64 holds all of them exactly."""
    return np.stack([terms.astype(float), seqs.astype(float), weights.astype(float), signatures.astype(float)], axis=1)


def head_rows(live: LiveMessages, index: MessageIndex, words: int, signatures: list[int]) -> Iterator[Array]:
    """Live postings of the head, along its chains."""
    used = int(index.control[at.I_HEAD_USED])
    head = index.head[:used]
    stamps = seqs_of(head[:, 1], live.end - 1).tolist()
    previous, terms = head[:, 0].tolist(), head[:, 3].tolist()
    weights = index.head_weights[:used, 2].tolist()
    found = []
    for term, last in enumerate(index.last[:words, 0].tolist()):
        place = last - 1
        if place >= used or place < 0 or terms[place] != term:
            continue  # left behind by a head that was sealed
        newer = live.end
        while place >= 0:
            assert terms[place] == term, f"the head's chain of term {term} comes to a posting of term {terms[place]}"
            assert stamps[place] < newer, f"the head's chain of term {term} is not ordered from new to old"
            newer = stamps[place]
            if newer >= live.first:
                found.append((term, newer, weights[place], signatures[newer - live.first]))
            place = previous[place] - 1
    if found:
        yield np.array(found, float)


def run_rows(live: LiveMessages, messages: Messages, index: MessageIndex, tier: int, words: int) -> Iterator[Array]:
    """Live postings of the sealed runs, along their chains; each run's own promises are checked on the way."""
    newest = int(index.control[at.I_HEAD_FIRST]) - 1
    oldest = max(live.first, int(index.control[at.I_SMALL_FIRST])) if tier == 0 else live.first
    if newest < oldest:
        return
    for term, last in enumerate(index.last[:words, 1 + tier].tolist()):
        run = last - 1
        before = newest + 1
        while run >= 0:
            row = index.runs[tier, run]
            sealed = int(seqs_of(row[at.R_NEWEST : at.R_NEWEST + 1], newest)[0])
            if int(row[at.R_TERM]) != term or sealed < oldest or sealed >= before:
                break  # what the chain goes on with has been overwritten, or is dead
            before = sealed
            yield from check_run(live, messages, index, tier, row, newest)
            run = int(row[at.R_PREVIOUS]) - 1


def check_run(
    live: LiveMessages, messages: Messages, index: MessageIndex, tier: int, row: Array, newest: int
) -> Iterator[Array]:
    """One run: its newest message, the boxes and weights of its blocks. Gives its live postings."""
    first, count, term = int(row[at.R_FIRST]), int(row[at.R_COUNT]), int(row[at.R_TERM])
    here = np.arange(first, first + count)
    stamps, weights = index.postings[tier, here, 0], index.weights[tier, here, 1]
    seqs = seqs_of(stamps, newest)
    what = f"the run of term {term} at {first} of tier {tier}"
    assert count > 0 and seqs.max() == seqs_of(row[at.R_NEWEST : at.R_NEWEST + 1], newest)[0], f"{what}: wrong newest"
    if count > BLOCK:
        assert first % BLOCK == 0, f"{what} is long and does not begin with a block"
        blocks = index.block[tier, here // BLOCK]
        places = messages.place[stamps.astype(np.int64) & SLOT_MASK, :3].astype(np.float32)
        boxed = ((blocks[:, :3] <= places) & (places <= blocks[:, 3:6])).all(axis=1)
        dead = seqs < live.first  # their places may have been given back
        require(boxed | dead, f"{what}: message {{}} lies outside of its block's box", seqs)
        require((blocks[:, 6] <= weights) & (weights <= blocks[:, 7]), f"{what}: weight {{}} is not bounded", weights)
    alive = seqs >= live.first
    signatures = index.postings[tier, here, 2].astype(np.int64)[alive]
    yield rows(np.full(int(alive.sum()), term), seqs[alive], weights[alive], signatures)
