"""One run from beginning to end: prepare, measure, compare with the floor, check, report."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from nearcast.bench.engine import check, prepare, report
from nearcast.bench.engine.environment import environment, load
from nearcast.bench.engine.floor import Floor, differing, run_floor
from nearcast.bench.engine.memory import accounted, resident
from nearcast.bench.engine.options import Options
from nearcast.bench.engine.phases import run_batches, run_singles
from nearcast.bench.engine.recording import RecordedEngine
from nearcast.bench.engine.steps import Steps

SHOWN = 10
"""Wrong lists that are printed."""


def measure(options: Options) -> report.Result:
    """Do everything that the options ask for."""
    steps = Steps()
    load_before = load()
    with steps.step("Generating the load"):
        made = prepare.make_load(options)
    memory = {"empty": resident()}
    with steps.step("Fitting the vocabulary"):
        engine = prepare.make_engine(options, made.workload)
    memory["vocabulary"] = resident()
    fill_s = prepare.fill(engine, made.workload, options, steps)
    memory["window"] = resident()
    registration = prepare.register(engine, made.subscriptions, steps)
    memory["subscriptions"] = resident()

    copy = None
    if options.floor:
        with steps.step("Copying the engine"):
            copy = prepare.copy_of(engine)
    first = engine.newest_seq + 1
    with steps.step("Publishing in batches", options.messages) as tick:
        batches = run_batches(engine, made.batches, tick)
    numbers = report.batch_numbers(batches)
    numbers["buffer_mean"] = report.buffer_mean(engine)
    floor, missed = None, 0
    if copy is not None:
        with steps.step("Applying the floor"):
            floor = run_floor(engine, copy)
            missed = differing(engine, copy)
        numbers |= report.floor_numbers(floor, batches, numbers["work_us"])
    del copy

    slots = check.sample(engine, options.check, options.seed)
    with steps.step("Checking lists"):
        wrong = check.wrong_lists(engine, slots)
    with steps.step("Publishing one by one", options.singles) as tick:
        singles = run_singles(engine, made.singles, tick)
    with steps.step("Checking lists again"):
        wrong += check.wrong_lists(engine, slots)
    numbers |= report.single_numbers(singles)
    problems = [f"wrong list, {line}" for line in wrong]
    if missed:
        problems.append(f"the floor is none: it left {missed} buffers that are not the engine's")
    for problem in problems[:SHOWN]:
        steps.say(problem)
    numbers |= {
        "fill_s": report.rounded(fill_s),
        "register_s": report.rounded(registration["seconds"]),
        "registration": registration,
        **memory_numbers(engine, memory),
        "checked_lists": 2 * len(slots),
        "wrong_lists": len(wrong),
        "floor_wrong_lists": missed,
        "options": asdict(options),
        "notes": made.workload.notes,
        "steps_s": {name: report.rounded(seconds) for name, seconds in steps.seconds.items()},
        "environment": environment() | {"load_before": load_before, "load_after": load()},
    }
    return report.Result(numbers, samples(batches, floor, singles, first), problems)


def memory_numbers(engine: RecordedEngine, after: dict[str, int]) -> dict[str, Any]:
    """Memory by what the system says, step by step, and by what the structures add up to."""
    engine.record()  # lets go of the recording
    after["messages"] = resident()
    grown = {name: here - before for (name, here), before in zip(list(after.items())[1:], after.values(), strict=False)}
    return {
        "bytes_per_subscription": report.rounded(sum(grown.values()) / engine.subscriptions),
        "memory_bytes": {"resident": sum(grown.values()), "grown_with": grown, "accounted": accounted(engine)},
    }


def samples(batches: Any, floor: Floor | None, singles: Any, first: int) -> dict[str, Any]:
    """The raw samples of both phases."""
    return {
        "batches": report.batch_samples(batches, floor, first),
        "singles": report.single_samples(singles, first + len(batches.hits)),
    }
