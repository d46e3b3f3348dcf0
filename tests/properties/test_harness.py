"""The harness itself: the reference is right by a second opinion, and an engine that is wrong is found out."""

import numpy as np
import pytest

from nearcast import changes, reference
from nearcast.model import Last
from nearcast.reference import ReferenceEngine
from support.compare import Mismatch, compare
from support.naive import NaiveEngine
from support.streams import World


def test_the_reference_agrees_with_plain_python(seed):
    for number in range(30):
        compare(ReferenceEngine, NaiveEngine, seed * 1000 + number, 80, refusals=False)


def test_streams_visit_everything_that_is_rare(seed):
    causes, refused, names = set(), 0, set()
    for number in range(15):
        world = World(seed * 1000 + number)
        engine = world.engine(ReferenceEngine)
        for _ in range(100):
            operation = world.next(list(engine))
            found, refusal = operation.on(engine)
            names.add(operation.name)
            causes |= {change.cause for change in found}
            refused += isinstance(refusal, tuple)
    assert causes == set(changes.CAUSES)
    assert names == {"publish", "publish_many", "subscribe", "subscribe_many", "unsubscribe", "advance"}
    assert refused > 10


class KeepsOneTooMany(ReferenceEngine):
    """A window that is one message too long."""

    def _first_live(self, newest, now):
        first = super()._first_live(newest, now)
        return max(0, first - 1) if isinstance(self.window, Last) else first


class RoundsAlphaAway(ReferenceEngine):
    """Scores that are off in the last bits."""

    def _register(self, batch, vectors):
        return super()._register(batch._replace(alpha=batch.alpha * np.float32(1 - 1e-6)), vectors)


class ForgetsToRefill(ReferenceEngine):
    """Changes without what moved up."""

    def _accept(self, batch, vectors):
        found = super()._accept(batch, vectors)
        return changes.ChangeColumns(*(column[found.cause != changes.REFILLED] for column in found))


class CallsItDisplaced(ReferenceEngine):
    """A wrong cause, everything else right."""

    def _accept(self, batch, vectors):
        found = super()._accept(batch, vectors)
        return found._replace(
            cause=np.where(found.cause == changes.EXPIRED, changes.DISPLACED, found.cause).astype("u1")
        )


class LosesTheTail(ReferenceEngine):
    """Right changes, but a list that lacks its last place once it is long."""

    def _list(self, slot):
        seqs, scores = super()._list(slot)
        return (seqs[:-1], scores[:-1]) if len(seqs) > 2 else (seqs, scores)


class OlderFirst(ReferenceEngine):
    """Ties broken the wrong way round."""

    def _recompute(self, newest, fresh, older):
        right = reference.rank_all

        def wrong(*arguments):
            right(*arguments)
            seqs, scores, counts = arguments[-3:]
            for row, count in enumerate(counts):
                for place in range(count - 1):
                    if scores[row, place] == scores[row, place + 1]:
                        seqs[row, [place, place + 1]] = seqs[row, [place + 1, place]]

        reference.rank_all = wrong
        try:
            return super()._recompute(newest, fresh, older)
        finally:
            reference.rank_all = right


@pytest.mark.parametrize(
    "broken", [KeepsOneTooMany, RoundsAlphaAway, ForgetsToRefill, CallsItDisplaced, LosesTheTail, OlderFirst]
)
def test_a_broken_engine_is_found_out(broken, seed):
    def several_worlds():
        for number in range(20):
            compare(broken, ReferenceEngine, seed * 1000 + number, 100)

    with pytest.raises(Mismatch, match=r"seed \d+, operation \d+"):
        several_worlds()
