"""Freed memory is kept for the next step: in processes of their own, since it cannot be undone."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = """
import ctypes, resource
from wocar.training.malloc import keep_freed_memory
{call}
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes, c.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]

def use():
    block = c.malloc(64 << 20)
    ctypes.memset(block, 1, 64 << 20)
    c.free(block)

use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(call: str) -> int:
    done = subprocess.run([sys.executable, "-c", FAULTS.format(call=call)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_pages_are_fetched_once() -> None:
    page = 4096
    assert faults("") > (64 << 20) / page
    assert faults("assert keep_freed_memory() and keep_freed_memory()") < 100


GROWTH = """
import sys
from wocar.cli.train_command import main
from wocar.training.dqn_trainer import DQNTrainer

iterate, resident = DQNTrainer.iterate, []

def noting(self, iteration):
    with open("/proc/self/statm") as file:
        _, whole, shared, *_ = map(int, file.read().split())
    resident.append((whole - shared) * 4096)
    return iterate(self, iteration)

DQNTrainer.iterate = noting
options = "--env CartPole-v1 --steps 60000 --checkpoint-every 10000 --buffer-size 5000 --per-alpha 0.6 --hidden 16 16"
assert main(["dqn", *options.split(), "--out", sys.argv[1]]) == 0
third = len(resident) // 3
print(max(resident[-third:]) - max(resident[:third]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_long_run_takes_no_more_memory_than_its_beginning(tmp_path: Path) -> None:
    """Of the process itself, files of the replay apart; 40,000 steps that kept 1 kB each would show."""
    command = [sys.executable, "-c", GROWTH, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout.splitlines()[-1]) < 20e6
