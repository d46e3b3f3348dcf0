"""One step of a shard in parts, for a message index outside of the compiled loop, or on another machine.

`advance_shard` in three pieces. `begin_step` leaves the subscriptions that need a re-evaluation in `scratch.pending`
and what it has noted of changed lists in `scratch.state`; `take_found` loads the answer for one of them; `finish_step`
reports.
"""

from __future__ import annotations

from nearcast.kernels.clock import ticks
from nearcast.kernels.jit import hot_kernel
from nearcast.kernels.layout import T_CHANGES, T_EXPIRE
from nearcast.kernels.report import ENTERED, REGISTERED, report
from nearcast.kernels.shard import arrive, expire, keep_short, load_short, tell_list
from nearcast.kernels.trace import TRACE_ON, record_hits, record_refill


@hot_kernel
def begin_step(subscriptions, postings, messages, policy, scratch, counters, expired, live, seq, arrives, log):
    """Expire messages expired..live-1 and, if it `arrives`, offer message `seq`: how many underflowed, and hits.

    `log` receives ticks of the arrival, ticks of the expiry, hits.
    """
    s = subscriptions
    state = scratch.state
    start = ticks()
    state[:] = 0
    for message in range(expired, live):
        expire(s, scratch, message, state, counters)
    gone = ticks()
    hits = 0
    if arrives:
        hits = arrive(s, postings, messages, policy, scratch, seq, state, counters)
    offered = ticks()
    short = keep_short(s, scratch, live, seq)
    counters[T_EXPIRE] += gone - start
    log[0] = offered - gone
    log[1] = gone - start + ticks() - offered
    log[2] = hits
    return short, hits


@hot_kernel
def take_found(subscriptions, postings, policy, scratch, row, found, theta, live, seq, counters, trace):
    """Load what a search found for one subscription: `found` messages in `scratch.found_*`, all that score at
    least theta.

    If its buffer has been filled by arrivals in the meantime, the answer is not needed.
    """
    if load_short(subscriptions, postings, policy, scratch, row, found, theta, live, seq, counters):
        if trace.control[TRACE_ON]:
            record_refill(subscriptions, trace, row)


@hot_kernel
def finish_step(subscriptions, scratch, out, counters, live, seq, arrives, hits, log, trace):
    """Report the net changes of the step's lists. `log` as in `begin_step`."""
    start = ticks()
    fresh = seq if arrives else seq + 1
    report(subscriptions, scratch, scratch.state[0], out, seq, fresh, live, counters)
    spent = ticks() - start
    counters[T_CHANGES] += spent
    log[0] += spent
    if trace.control[TRACE_ON]:
        record_hits(scratch, trace, hits)


@hot_kernel
def tell_first_list(subscriptions, out, row, newest):
    """Report the first list of a subscription, which was registered without one."""
    tell_list(subscriptions, out, row, newest, ENTERED, REGISTERED)
