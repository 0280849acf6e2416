"""Freed memory is kept for the next step: in processes of their own, since it cannot be undone."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import ctypes, resource
from wocar.training.memory import keep_freed_memory
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
