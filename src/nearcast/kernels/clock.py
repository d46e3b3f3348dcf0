"""Two instructions that Python has no word for: read the processor's counter, and prefetch a cache line.

`ticks()` lets a kernel time its own phases for some 10 ns a reading, where a call back into Python would cost more than
what is measured. `prefetch(array, index)` asks for an element some iterations ahead. Without JIT both are plain Python.
"""

from __future__ import annotations

import functools
import time

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from nearcast.kernels.jit import kernel

CALIBRATION_NS = 4_000_000
READINGS = 25

if config.DISABLE_JIT:

    def ticks():
        """Nanoseconds: the interpreter has nothing finer."""
        return time.perf_counter_ns()

    def prefetch(array, index):
        """Nothing: the interpreter is too slow to gain by it."""

else:

    @intrinsic
    def ticks(typingctx):
        """The processor's counter, an int64 of no fixed unit (see `nanoseconds_per_tick`)."""
        return types.int64(), _emit_ticks

    @intrinsic
    def prefetch(typingctx, array, index):
        """Ask for the cache line of `array[index]`, to be read soon. An index outside of the array does no harm."""
        if not (isinstance(array, types.Array) and array.ndim == 1 and isinstance(index, types.Integer)):
            return None
        return types.none(array, index), _emit_prefetch


def _emit_ticks(context, builder, signature, args):
    word = ir.IntType(64)
    # x86: rdtsc. ARM: the virtual timer, open to all (before LLVM 22 a register that only the kernel may read).
    counter = builder.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(word, []))
    return builder.call(counter, [])


def _emit_prefetch(context, builder, signature, args):
    array_type, index_type = signature.args
    array = context.make_array(array_type)(context, builder, args[0])
    index = context.cast(builder, args[1], index_type, types.intp)
    place = cgutils.get_item_pointer(context, builder, array_type, array, [index], wraparound=False, boundscheck=False)
    address = builder.bitcast(place, cgutils.voidptr_t)
    number = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
    instruction = builder.module.declare_intrinsic("llvm.prefetch", (cgutils.voidptr_t,), kind)
    read, keep_in_all_levels, data = number(0), number(3), number(1)
    builder.call(instruction, [address, read, keep_in_all_levels, data])
    return context.get_dummy_value()


@kernel
def read_ticks():
    """One reading for Python."""
    return ticks()


@functools.cache
def nanoseconds_per_tick() -> float:
    """How long a tick is, measured once against the system's clock over a few milliseconds (1.0 without JIT)."""
    if config.DISABLE_JIT:
        return 1.0
    read_ticks()  # compile or load it outside of the measurement
    start_ns, start = _both_clocks()
    while time.perf_counter_ns() - start_ns < CALIBRATION_NS:
        pass
    end_ns, end = _both_clocks()
    return (end_ns - start_ns) / (end - start)


def _both_clocks() -> tuple[int, int]:
    """The same moment on both clocks: of some tries the one during which the least time went by."""
    tries = []
    for _ in range(READINGS):
        before = time.perf_counter_ns()
        reading = read_ticks()
        after = time.perf_counter_ns()
        tries.append((after - before, (before + after) // 2, reading))
    return min(tries)[1:]
