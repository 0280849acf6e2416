"""Settings of the C library's allocator."""

import ctypes
import functools

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4
"""Names of glibc's mallopt(3)."""


@functools.cache
def keep_freed_memory() -> bool:
    """Let the C library keep up to 2 GB of freed memory; returns whether it does.

    By default the buffers of a large update, above all of convolutions, are returned to the kernel after each call,
    and all their pages are mapped and cleared again: a third of the time of WocaR-DQN's update on pixels.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    return all([mallopt(MMAP_MAX, 0), mallopt(TRIM_THRESHOLD, 2**31 - 1), mallopt(TOP_PAD, 2**26)])
