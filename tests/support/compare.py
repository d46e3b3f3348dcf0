"""Two engines side by side on one random stream: after every operation they must agree on everything."""

from dataclasses import replace
from itertools import zip_longest

from nearcast import invariants
from nearcast.changes import replay
from nearcast.engine import Engine
from nearcast.frontend import Frontend
from support.streams import World


class Mismatch(AssertionError):
    """Says which seed and which operation, so that it can be run again."""


def compare(factory, reference_factory, seed, operations, refusals=True, every=50, crowded=None, prepare=None):
    """Run `operations` operations and return how many.

    Each time the answers are compared, and the changed lists with what the reference's changes add up to; `every` so
    often, all lists of both, in full, and an Engine's structures are checked. `prepare` is called with both at first.
    """
    world = World(seed, refusals, crowded)
    engine, reference = world.engine(factory), world.engine(reference_factory)
    if prepare:
        prepare(engine, reference)
    ids: list[str] = []
    rebuilt: dict = {}
    recent: list = []
    for number in range(operations):
        operation = world.next(ids)
        recent = [*recent[-4:], operation]
        try:
            got, want = operation.on(engine), operation.on(reference)
            check(got[1], want[1], "refusals")
            check(got[0], want[0], "changes")
            if operation.name not in ("publish", "advance"):
                ids = list(reference)
            full = number % every == every - 1 or number == operations - 1
            if full:
                check(list(engine), ids, "ids")
                if isinstance(engine, Engine):
                    invariants.check(engine)
            replay(rebuilt, got[0])
            changed = ids if full else {change.subscription for change in want[0]}.intersection(ids)
            for place, id in enumerate(changed):
                top = engine.top(id)
                check([(ranked.seq, ranked.score) for ranked in top], rebuilt.get(id, []), f"list of {id}")
                if full:
                    check(top, reference.top(id), f"list of {id}")
                    if place % (1 + len(ids) // 40) == 0:
                        explain(engine, reference, id, number)
        except Exception as error:
            context = "\n  ".join(repr(operation)[:2000] for operation in recent)
            settings = f"{world.window}, {world.space}, {'fitted' if world.corpus else 'learned'} vocabulary"
            raise Mismatch(
                f"seed {seed}, operation {number} ({settings})\n{error}\nlast operations:\n  {context}"
            ) from error
    return operations


def explain(engine, reference, id, number):
    """One live message explained by both: they agree on all but thresholds and what an engine says of its own rules."""
    if isinstance(reference, Frontend) and reference.window_size:
        seq = reference.newest_seq - number % reference.window_size
        want = reference.explain(id, seq)
        got = engine.explain(id, seq)
        check(replace(got, threshold=want.threshold, outcome=want.outcome), want, f"explanation of {seq} for {id}")
        assert got.outcome
        assert got.threshold <= want.threshold or not got.threshold


def check(got, want, what):
    """Equal, or an error that shows where the first difference is."""
    if got == want:
        return
    if isinstance(got, list) and isinstance(want, list):
        for i, (ours, theirs) in enumerate(zip_longest(got, want, fillvalue="nothing")):
            if ours != theirs:
                raise AssertionError(f"{what} differ at {i}:\n  got      {ours}\n  expected {theirs}")
    raise AssertionError(f"{what} differ:\n  got      {got}\n  expected {want}")
