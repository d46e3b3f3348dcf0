"""A shard that asks a message index outside of the compiled loop for its re-evaluations (paper 7.2, streams 5 to 7).

Step by step: begin, a search and its answer for each subscription that needs one, finish. The same lists and changes as
with the default index; what it costs more is some calls from Python per message and per re-evaluation.
"""

from __future__ import annotations

import numpy as np

from nearcast.capture import MessageColumns
from nearcast.kernels import flow, layout
from nearcast.kernels import stepwise as kernels
from nearcast.kernels.clock import read_ticks
from nearcast.kernels.layout import MessageIndex as Segments
from nearcast.kernels.layout import Messages, Policy
from nearcast.message_index import MessageIndex
from nearcast.shard import MANY, Array, Columns, Part, Shard
from nearcast.text import TermVectors


def make_shard(messages: Messages, segments: Segments, index: MessageIndex | None, by_paper: bool) -> Shard:
    """A shard that searches in `index`, or in the segments."""
    if index is None:
        return Shard(messages, segments, by_paper)
    return SteppedShard(messages, segments, index, by_paper)


def take_in(messages: Messages, index: MessageIndex, columns: MessageColumns, begin: int, end: int) -> None:
    """Rows begin..end-1 of a batch go into the window and the index."""
    points, _, _, offsets, terms, weights = columns
    first = int(messages.control[layout.A_NEXT])
    flow.keep_messages(messages, *columns, begin, end)
    a, b = offsets[begin], offsets[end]
    seqs = np.arange(first, first + end - begin)
    index.add(seqs, points[begin:end], offsets[begin : end + 1] - a, terms[a:b], weights[a:b])


class SteppedShard(Shard):
    """A `Shard` in front of any message index. The segments in its state stay empty."""

    def __init__(self, messages: Messages, segments: Segments, index: MessageIndex, by_paper: bool) -> None:
        super().__init__(messages, segments, by_paper)
        self.searched = index

    def advance(self, policy: Policy, first_seq: int, first_live: Array, arrives: bool) -> Part:
        """As `Shard.advance`."""
        self.out.count[0] = 0
        self.log = np.empty((len(first_live) - 1, 3), np.int64)
        lives = first_live.tolist()
        for step, log in enumerate(self.log):
            live = lives[step + 1]
            seq = first_seq + step if arrives else first_seq - 1
            short, hits = kernels.begin_step(
                self.subscriptions, self.postings, self.messages, policy, self.scratch, self.counters,
                lives[step], live, seq, arrives, log,
            )  # fmt: skip
            if short:
                start = read_ticks()
                for row in self.scratch.pending[:short].tolist():
                    self._evaluate(policy, row, live, seq)
                spent = read_ticks() - start
                self.counters[layout.T_REFILL] += spent
                log[1] += spent
            kernels.finish_step(
                self.subscriptions, self.scratch, self.out, self.counters, live, seq, arrives, hits, log, self.trace
            )
        return self._part()

    def register(
        self, policy: Policy, columns: Columns, vectors: TermVectors, chosen: Array, rows: Array, slots: Array
    ) -> Part:
        """As `Shard.register`: all without a list, then each with what a search finds for it."""
        self.out.count[0] = 0
        many = len(chosen) >= MANY
        first, newest = (int(self.messages.control[column]) for column in (layout.A_FIRST, layout.A_NEXT))
        newest -= 1
        self._enrol(policy, columns, vectors, chosen, rows, slots, newest + 1, not many)  # as if no message were live
        if newest >= first:
            for row in rows[chosen].tolist():
                self._evaluate(policy, row, first, newest)
                kernels.tell_first_list(self.subscriptions, self.out, row, newest)
        if many:
            self._pack(policy, vectors.terms)
        return self._part()

    def _evaluate(self, policy: Policy, row: int, first_live: int, newest: int) -> None:
        """Search for one subscription and load its buffer with the answer."""
        s, scratch = self.subscriptions, self.scratch
        begin = int(s.u32[row, layout.S_TERMS])
        end = begin + int(s.u32[row, layout.S_NTERMS])
        rank = int(policy.target_rank[s.u32[row, layout.S_K]])
        seqs, scores = self.searched.search(
            s.f64[row, :3], s.term_ids[begin:end], s.term_weights[begin:end], s.f32[row, layout.S_ALPHA],
            rank, first_live, newest,
        )  # fmt: skip
        self.counters[layout.N_REFILL_WORK] += self.searched.take_cost()
        found = len(seqs)
        scratch.found_scores[:found] = scores
        scratch.found_stamps[:found] = (seqs & 0xFFFFFFFF).astype(np.uint32)
        theta = scores[rank - 1] if found >= rank else np.float32(0.0)  # 0: all that match have been found
        kernels.take_found(
            s, self.postings, policy, scratch, row, found, theta, first_live, newest, self.counters, self.trace
        )
