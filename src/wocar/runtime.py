"""Runtime settings: JAX's platform, the thread pools of XLA and BLAS and the cache of compiled programs, the same from
Python and the command line.

Networks here are small: threads inside one product cost more than they bring, and compete with the simulator's.
"""

import contextlib
import functools
import hashlib
import importlib
import os
import platform
import re
import sys
from pathlib import Path

JAX = {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.3",
}
CACHE = "JAX_COMPILATION_CACHE_DIR"
BLAS = "OPENBLAS_NUM_THREADS"
NUMERIC = (
    *("XLA_FLAGS", "JAX_PLATFORMS", "JAX_ENABLE_X64", "JAX_DEFAULT_MATMUL_PRECISION", "JAX_DISABLE_MOST_OPTIMIZATIONS"),
    *(BLAS, "OMP_NUM_THREADS"),
)
"""Variables that change the order of sums, or their precision."""


@functools.cache
def configure() -> None:
    """Set what the environment leaves open, once in a process; to be called before JAX is imported.

    JAX reads its variables when it is imported, OpenBLAS when NumPy is: where that was earlier, its pool is limited
    through threadpoolctl, if that is installed.
    """
    for name, value in JAX.items():
        os.environ.setdefault(name, value)
    if CACHE not in os.environ and (folder := cache_folder()):
        os.environ[CACHE] = str(folder)
    if BLAS in os.environ:
        return
    os.environ[BLAS] = "1"
    if "numpy" in sys.modules:
        with contextlib.suppress(ImportError):
            pools = importlib.import_module("threadpoolctl").ThreadpoolController()
            pools.select(internal_api="openblas").limit(limits=1)


def fingerprint() -> dict[str, str]:
    """What decides the last digits of numbers: where it differs, one seed may train another agent."""
    from importlib.metadata import PackageNotFoundError, version  # takes a while, and help texts need it not

    found = {name: os.environ.get(name, "") for name in NUMERIC}
    for package in ("jax", "jaxlib", "numpy"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    kind = hashlib.sha256(processor().encode()).hexdigest()[:12]
    return {**found, "processor": f"{platform.machine()}-{kind}"}


def changed_numerics(before: object) -> str:
    """How the fingerprint differs from one that was kept, in words; empty where it does not, or none was kept."""
    now = fingerprint()
    if not isinstance(before, dict):
        return ""
    differing = [name for name, value in now.items() if before.get(name) != value]
    return ", ".join(f"{name} {before.get(name)!r} (now: {now[name]!r})" for name in differing)


def cache_folder() -> Path | None:
    """Where what one process has compiled is kept for the next, below the user's cache; None where it cannot be made.

    Each kind of processor has a folder of its own, so that machines that share a home do not share programs.
    """
    with contextlib.suppress(OSError, RuntimeError):
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        kind = hashlib.sha256(processor().encode()).hexdigest()[:12]
        folder = base / "wocar" / "jax" / f"{platform.machine()}-{kind}"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    return None


@functools.cache
def processor() -> str:
    """The processor's model and abilities, as far as the system tells."""
    with contextlib.suppress(OSError):
        lines = re.findall(r"^(?:model name|flags|Features|CPU part)\s*:.*$", Path("/proc/cpuinfo").read_text(), re.M)
        return "\n".join(sorted(set(lines)))
    return platform.processor()
