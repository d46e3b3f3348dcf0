"""The two instructions, in all lanes and out of the cache of another process; and where that cache is."""

import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from llvmlite import ir
from numba import config

from nearcast.kernels import cache
from nearcast.kernels.clock import nanoseconds_per_tick, prefetch, read_ticks, ticks
from nearcast.kernels.jit import helper, kernel

compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled in this lane")


@helper
def sum_ahead(data, order, ahead):
    total = 0.0
    for i in range(order.size):
        if i + ahead < order.size:
            prefetch(data, order[i + ahead])
        total += data[order[i]]
    return total


@kernel
def timed_sum(data, order, ahead, spent):
    start = ticks()
    total = sum_ahead(data, order, ahead)
    spent[0] = ticks() - start
    return total


@kernel
def prefetch_anywhere(data):
    prefetch(data, data.size)
    prefetch(data, -1)
    prefetch(data, 1 << 50)
    prefetch(data, np.uint32(3))
    return data[0]


@pytest.mark.lanes
def test_time_and_sum_are_right(rng):
    data = rng.random(10_000)
    order = rng.permutation(data.size).astype(np.int32)
    spent = np.zeros(1, np.int64)
    before = time.perf_counter_ns()
    total = timed_sum(data, order, 8, spent)
    outside = time.perf_counter_ns() - before
    assert total == pytest.approx(data.sum())
    assert 0 < spent[0] * nanoseconds_per_tick() <= outside * 1.05 + 1000


@pytest.mark.lanes
def test_a_prefetch_outside_of_the_array_does_no_harm(rng):
    data = rng.random(10)
    assert prefetch_anywhere(data) == data[0]


@pytest.mark.lanes
def test_ticks_count_real_time():
    """The best of some tries: between two readings the machine may do something else for a while."""
    read_ticks()
    ratios = []
    for _ in range(5):
        start_ns, start = time.perf_counter_ns(), read_ticks()
        time.sleep(0.01)
        spent_ns, spent = time.perf_counter_ns() - start_ns, read_ticks() - start
        ratios.append(spent * nanoseconds_per_tick() / spent_ns)
    assert min(abs(ratio - 1) for ratio in ratios) < 0.02


@compiled
def test_the_instructions_are_really_there():
    fresh = numba.njit(timed_sum.py_func)  # what comes from the cache cannot be inspected
    fresh(np.ones(4), np.arange(4, dtype=np.int32), 1, np.zeros(1, np.int64))
    code = fresh.inspect_llvm(fresh.signatures[0])
    assert "@llvm.readcyclecounter()" in code
    assert ", i32 0, i32 3, i32 1)" in code.partition("call void @llvm.prefetch")[2].splitlines()[0]


@compiled
def test_prefetch_takes_one_dimension_and_whole_numbers_only():
    @kernel
    def wrong(data, index):
        prefetch(data, index)

    for data, index in ((np.ones((2, 2)), 1), (np.ones(4), 1.5)):
        with pytest.raises(Exception, match="prefetch"):
            wrong(data, index)


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        ("x86_64-unknown-linux-gnu", "rdtsc"),
        ("aarch64-unknown-linux-gnu", "CNTVCT_EL0"),
        ("arm64-apple-darwin", "CNTVCT_EL0"),
    ],
)
def test_every_processor_reads_a_counter_open_to_programs(target, instruction):
    """On ARM older LLVM reads PMCCNTR_EL0, which ends an ordinary program."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module, word = ir.Module(), ir.IntType(64)
    builder = ir.IRBuilder(ir.Function(module, ir.FunctionType(word, []), "f").append_basic_block())
    counter = module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(word, []))
    builder.ret(builder.call(counter, []))
    machine = llvm.Target.from_triple(target).create_target_machine()
    assert instruction in machine.emit_assembly(llvm.parse_assembly(str(module)))


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from user import spent_in
print(spent_in(np.arange(1000.0)) > 0, sum(spent_in.stats.cache_hits.values()))
"""

USER = """
from nearcast.kernels import cache
from nearcast.kernels.clock import prefetch, ticks
from nearcast.kernels.jit import kernel


@kernel
def spent_in(data):
    start = ticks()
    total = 0.0
    for i in range(data.size):
        prefetch(data, i + 16)
        total += data[i]
    return ticks() - start + (total < 0)
"""


@compiled
def test_a_second_process_loads_them_from_the_cache(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    environment = dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    runs = [subprocess.run(command, capture_output=True, text=True, env=environment, check=True) for _ in range(2)]
    assert [run.stdout.split() for run in runs] == [["True", "0"], ["True", "1"]]


def test_any_edited_kernel_source_changes_the_key_and_nothing_else_does(tmp_path):
    package = shutil.copytree(cache.PACKAGE, tmp_path / "nearcast", ignore=shutil.ignore_patterns("__pycache__"))
    first = cache.key(package)
    assert first == cache.key(cache.PACKAGE)
    (package / "errors.py").write_text("# edited\n")
    assert cache.key(package) == first
    keys = {first}
    for source in ("kernels/score.py", "baselines/new.py", "bench/floor.py"):
        (package / source).parent.mkdir(exist_ok=True)
        with (package / source).open("a") as file:
            file.write("\nfrom nearcast.kernels.jit import helper\n")
        keys.add(cache.key(package))
    assert len(keys) == 4


def test_a_setting_that_changes_the_code_changes_the_key(monkeypatch):
    first = cache.key(cache.PACKAGE)
    monkeypatch.setattr(config, "BOUNDSCHECK", 0 if config.BOUNDSCHECK else 1)
    assert cache.key(cache.PACKAGE) != first


def chosen(tmp_path: Path, before: str = "", **environment: str) -> Path:
    """The directory that a process with this environment settles on, where Numba will really look."""
    report = "from nearcast.kernels import CACHE_DIR; import numba; print(CACHE_DIR, numba.config.CACHE_DIR)"
    base = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "XDG_"))}
    base |= {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp")} | environment
    (tmp_path / "tmp").mkdir(exist_ok=True)
    command = [sys.executable, "-c", f"{before}\n{report}"]
    done = subprocess.run(command, capture_output=True, text=True, env=base, check=True)
    ours, numbas = done.stdout.split()
    assert ours == numbas
    return Path(ours)


@pytest.mark.parametrize("before", ["", "import numba"])
def test_the_cache_is_in_the_users_cache_folder(tmp_path, before):
    path = chosen(tmp_path, before)
    assert path.parent == tmp_path / "home" / ".cache" / "nearcast"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert chosen(tmp_path, before, XDG_CACHE_HOME=str(tmp_path / "xdg")).parent == tmp_path / "xdg" / "nearcast"
    assert chosen(tmp_path, before, XDG_CACHE_HOME="relative") == path


def test_the_setting_survives_what_makes_numba_read_its_variables_again(tmp_path):
    before = "import os, numba, nearcast.kernels\nos.environ['NUMBA_NUM_THREADS'] = '1'\nnumba.njit(lambda: 1)()\n"
    assert chosen(tmp_path, before).parent == tmp_path / "home" / ".cache" / "nearcast"


def test_a_users_own_directory_is_left_alone(tmp_path):
    assert chosen(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "own")) == tmp_path / "own"
    assert not (tmp_path / "home").exists()


def test_a_child_process_does_not_inherit_the_choice(tmp_path):
    parents = chosen(tmp_path)
    assert chosen(tmp_path, NUMBA_CACHE_DIR=str(parents)) == parents
    assert chosen(tmp_path, NUMBA_CACHE_DIR=str(parents), NUMBA_BOUNDSCHECK="1") != parents


def test_a_temporary_directory_where_the_home_is_not_writable(tmp_path):
    path = chosen(tmp_path, HOME="/dev/null/nobody")
    assert path.parent == tmp_path / "tmp" / f"nearcast-{os.getuid()}"


def test_a_directory_that_everybody_may_write_to_is_not_used(tmp_path):
    path = chosen(tmp_path)
    path.chmod(0o777)
    assert chosen(tmp_path).parent == tmp_path / "tmp" / f"nearcast-{os.getuid()}"


def test_nothing_is_compiled_so_nothing_is_kept(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "from nearcast.kernels import CACHE_DIR; print(CACHE_DIR)"],
        capture_output=True,
        text=True,
        env=dict(os.environ, NUMBA_DISABLE_JIT="1", HOME=str(tmp_path)),
        check=True,
    )
    assert done.stdout == "None\n"
    assert list(tmp_path.iterdir()) == []


def test_directories_unused_for_a_month_are_removed(tmp_path):
    now = time.time()
    for name, days in (("kernels-old", 31), ("kernels-new", 29), ("other", 99)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, now - days * 24 * 3600))
    assert cache.remove_old(tmp_path, now) == [tmp_path / "kernels-old"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernels-new", "other"]
