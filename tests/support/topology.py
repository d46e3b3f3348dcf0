"""A random life of a topology beside the reference: the same messages one by one there, in micro-batches here."""

import numpy as np

from nearcast.changes import KINDS, as_changes, replay
from nearcast.envelopes import Envelopes
from nearcast.intake import NEVER
from nearcast.invariants import allocators, buffers, calendar, lists, order
from nearcast.invariants.tables import table_of
from nearcast.invariants.window import LiveMessages
from nearcast.kernels import layout
from nearcast.model import Change
from nearcast.reference import ReferenceEngine
from nearcast.spark.distribution import MessageBatch, SubscriptionBatch, fit
from nearcast.spark.topology import Batch, Messages, Newcomers, Topology
from nearcast.tuning import Tuning
from support.compare import check
from support.streams import World

SIZES = (0, 1, 1, 2, 5, 20, 60)
"""Operations in a batch; some windows are shorter."""


def random_tuning(rng):
    """Mostly such that everything is packed, sealed and merged early."""
    if rng.random() < 0.3:
        return None
    return Tuning(
        order=str(rng.choice(["blocks", "paper"])),
        cell_limit=int(rng.choice([1, 3, 8, 1000])),
        alpha_groups=int(rng.choice([1, 2, 10])),
        head_messages=int(rng.choice([1, 2, 5, 64])),
        segment_messages=int(rng.choice([1, 8, 65536])),
        rank=[None, None, 1, 3, 40][rng.integers(5)],
    )


class StartsLate(ReferenceEngine):
    """A reference whose first message need not be 0."""

    def _first_live(self, newest, now):
        return max(self._log.start, super()._first_live(newest, now))


class Life:
    """One world, the reference, the topology, and what has been compared."""

    def __init__(self, rng, mechanism, settings, partitions=None, keepers=None, crowded=False, every=1):
        self.rng = rng
        self.world = World(int(rng.integers(1 << 32)), refusals=False, crowded=crowded)
        self.world.corpus = self.world.corpus or [self.world._fresh_text() for _ in range(30)]
        self.reference = self.world.engine(StartsLate)
        partitions = int(rng.integers(1, 7)) if partitions is None else partitions
        self.mechanism = self.fit(mechanism, settings, partitions)
        keepers = int(rng.integers(1, 4)) if keepers is None else keepers
        self.tuning = random_tuning(rng)
        space, window = self.world.space, self.world.window
        self.topology = Topology(window, space, self.mechanism, keepers=keepers, tuning=self.tuning)
        self.names = {}
        self.before = {}
        self.rebuilt = {}
        self.reports = []
        self.compared = 0
        self.every = every

    def start_at(self, seq):
        """The next message is `seq`, as after so many that have all expired."""
        self.reference._log = Envelopes(seq)
        clock = self.topology.clock
        clock.next = clock.live = seq
        for keeper in self.topology.keepers:
            keeper.messages.control[[layout.A_FIRST, layout.A_NEXT]] = keeper._own(seq)
            keeper.index.control[[layout.I_HEAD_FIRST, layout.I_SMALL_FIRST]] = keeper._own(seq)
            keeper._trimmer.begin()

    def fit(self, name, settings, partitions):
        """A mechanism fitted on samples of the world, or on none."""
        world, count = self.world, int(self.rng.choice([0, 5, 40]))
        encode = self.reference.vocabulary.encode
        own = encode([world._fresh_text(1) or "w0" for _ in range(count)], count=False)
        heard = encode([world._fresh_text(1) for _ in range(count)], count=True)
        places = np.array([world._place() for _ in range(2 * count)], float).reshape(-1, 2)
        alpha, theta = self.rng.random(count), self.rng.random(count)
        sample = SubscriptionBatch.of(np.arange(count), places[:count], alpha, theta, *own)
        return fit(name, sample, MessageBatch.of(places[count:], *heard), partitions, **settings)

    def step(self):
        """A micro-batch on both sides; then all lists and the batch's changes are compared."""
        reference, known = self.reference, set(self.reference)
        numbers = {id: self.number(id) for id in known}
        first, floor, published = reference.newest_seq + 1, NEVER, []
        for _ in range(int(self.rng.choice(SIZES))):
            operation = self.world.next(list(reference))
            if operation.name == "publish":
                at, time = operation.kwargs["at"], operation.kwargs["time"]
                published.append((operation.args[0], *at, max(time, floor)))
            elif operation.name == "publish_many":
                rows = operation.args[0].to_pylist()
                published += [(row["text"], row["x"], row["y"], max(row["time"], floor)) for row in rows]
            elif operation.name == "advance":
                floor = max(floor, operation.args[0])
            operation.on(reference)
        leaving = [number for id, number in numbers.items() if id not in reference or self.number(id) != number]
        fresh = [id for id in reference if numbers.get(id) != self.number(id)]
        now = NEVER if reference.time is None else reference.time
        batch = Batch(self.messages(published), self.newcomers(fresh), np.array(leaving, np.int64), now)
        self.names |= {self.number(id): id for id in fresh}
        done = self.topology.run(batch)
        self.reports.append(done.report)
        self.compare()
        got = as_changes(done.changes, lambda numbers: [self.names[number] for number in numbers.tolist()])
        after = {id: self.list(id) for id in reference}
        check(got, self.changes(after, {self.names[number] for number in leaving}, set(fresh), first), "changes")
        replay(self.rebuilt, got)
        check(self.rebuilt, {id: ranked for id, ranked in after.items() if ranked}, "replayed lists")
        self.before = after
        if len(self.reports) % self.every == 0:
            self.check_structures()

    def compare(self):
        """Every list of the topology is the reference's, bit by bit."""
        for id in self.reference:
            seqs, scores = self.topology.top(self.number(id))
            want_seqs, want_scores = self.reference._list(self.reference._registry.slot(id))
            check(seqs.tolist(), want_seqs.tolist(), f"messages of {id}")
            check(scores.view(np.uint32).tolist(), want_scores.view(np.uint32).tolist(), f"scores of {id}")
            self.compared += 1
        homes = sum(len(partition.homed()) for partition in self.topology.partitions)
        assert homes == self.reference.subscriptions

    def changes(self, after, left, fresh, first):
        """What differs between the lists before the batch and after it, as `model.Change` has it."""
        live, newest = self.reference.newest_seq + 1 - self.reference.window_size, self.reference.newest_seq
        changes = []
        for number in sorted(self.names):
            id = self.names[number]
            old, new = dict(self.before.get(id, [])), dict(after.get(id, []))
            for rank, (message, score) in enumerate(self.before.get(id, []), 1):
                if message not in new:
                    cause = "unsubscribed" if id in left else "expired" if message < live else "displaced"
                    changes.append(Change(newest, id, KINDS[0], message, rank, score, cause))
            for rank, (message, score) in enumerate(after.get(id, []), 1):
                if message not in old:
                    cause = "registered" if id in fresh else "arrived" if message >= first else "refilled"
                    changes.append(Change(newest, id, KINDS[1], message, rank, score, cause))
        return changes

    def check_structures(self):
        """The engine's own checkers on every partition; of a guest there is no buffer to check."""
        world, words = self.world.space.world, len(self.reference.vocabulary)
        live = self.live()
        for partition in self.topology.partitions:
            table = table_of(partition.subscriptions)
            lists.check(table, partition, world, words)
            order.check(table, partition, self.world.space, words)
            calendar.check(table, partition, live)
            allocators.check(table, partition, words)
            seqs, scores, counts = buffers.matching(table, partition, world, live)
            home = set(partition.homed().tolist())
            for i, row in enumerate(table.rows.tolist()):
                if row in home:
                    buffers.check_buffer(partition, row, seqs[i, : counts[i]], scores[i, : counts[i]])
                else:
                    assert len(partition.buffer(row)[0]) == 0
        self.check_guests()

    def check_guests(self):
        """Everybody stands where the mechanism wants them, and all know the home's threshold."""
        topology = self.topology
        held = {}
        for partition in topology.partitions:
            rows = partition.rows()
            for row, number in zip(rows.tolist(), partition.number_of(rows).tolist(), strict=True):
                theta = partition.threshold(row)
                placed = int(partition._placed[row]), int(partition._homes[row]), int(partition._holders[row])
                held.setdefault(number, {})[partition.number] = (theta, *placed)
        for number, where in held.items():
            assert len(set(where.values())) == 1, f"{number} stands differently in {where}"
            home = next(iter(where.values()))[2]
            partition = topology.partitions[home]
            batch = partition.batch(np.array([partition.row(number)]))
            assert set(topology.mechanism.assign(batch).partitions.tolist()) == set(where)
            assert int(topology.mechanism.home(batch)[0]) == home
            assert not topology.mechanism.needs_move(batch)[0]

    def live(self):
        """The window of the reference."""
        m, newest = self.reference._messages, self.reference.newest_seq
        rows = slice(m.first, m.end)
        a, b = m.spans[m.first], m.spans[m.end]
        first = newest + 1 - (m.end - m.first)
        spans = m.spans[m.first : m.end + 1] - a
        return LiveMessages(first, newest + 1, m.points[rows].copy(), spans, m.terms[a:b].copy(), m.weights[a:b].copy())

    def number(self, id):
        return self.reference._registry.row(self.reference._registry.slot(id)).number

    def list(self, id):
        seqs, scores = self.reference._list(self.reference._registry.slot(id))
        return list(zip(seqs.tolist(), scores.tolist(), strict=True))

    def messages(self, published):
        texts, x, y, times = zip(*published, strict=True) if published else ([], [], [], [])
        vectors = self.reference.vocabulary.encode(list(texts), count=True)
        return Messages.of(seqs=np.full(len(x), -1), times=times, x=x, y=y, **vectors._asdict())

    def newcomers(self, ids):
        rows = [self.reference._registry.row(self.reference._registry.slot(id)) for id in ids]
        vectors = [self.reference._vector(self.reference._registry.slot(id)) for id in ids]
        return Newcomers.of(
            numbers=[row.number for row in rows],
            x=[row.x for row in rows],
            y=[row.y for row in rows],
            alphas=[row.alpha for row in rows],
            ks=[row.k for row in rows],
            offsets=np.cumsum([0, *(len(terms) for terms, _ in vectors)]),
            terms=np.concatenate([[], *(terms for terms, _ in vectors)]),
            weights=np.concatenate([[], *(weights for _, weights in vectors)]),
        )
