"""Test environment: CPU, a compilation cache that survives the run, Hypothesis without deadlines, long files first."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from wocar.runtime import CACHE, configure

TESTS = Path(__file__).resolve().parent
QUICK = "JAX_DISABLE_MOST_OPTIMIZATIONS"
LONGEST_FIRST = (
    "reproduce/test_smoke.py",
    "mechanisms/test_reductions.py",
    "training/test_runs.py",
    "mechanisms/test_wocar_dqn.py",
    "evaluation/test_audit.py",
    "reproduce/test_local.py",
    "networks/test_networks.py",
    "reproduce/test_cluster.py",
)
"""Files in the order of their time, as far as it matters. `make test` runs each file in one process: with the longest
first, all processes end at about the same time."""

os.environ.setdefault(CACHE, str(TESTS.parent / ".cache" / "jax"))
os.environ.setdefault("XDG_DATA_HOME", str(TESTS.parent / ".cache" / "data"))  # of the local key
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault(QUICK, "1")  # most tests compile longer than they run
configure()  # the rest as the command line does, so that tests share compiled programs with the processes they start

settings.register_profile("wocar", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("wocar")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {TESTS / name: k for k, name in enumerate(LONGEST_FIRST)}
    if missing := [str(file) for file in order if not file.is_file()]:
        raise pytest.UsageError(f"LONGEST_FIRST names files that do not exist: {', '.join(missing)}")
    items.sort(key=lambda item: order.get(item.path, len(order)))


@pytest.fixture(autouse=True, scope="module")
def compiled_programs(request: pytest.FixtureRequest) -> Iterator[None]:
    """A module with RUNS_LONG has its programs optimised, here and in processes that it starts.

    All programs are dropped after each module: each maps pages of its own, and Linux allows a process 65,530 maps,
    fewer than all programs need.
    """
    import jax

    with pytest.MonkeyPatch.context() as patch:
        usual = jax.config.values[QUICK.lower()]
        if getattr(request.module, "RUNS_LONG", False):
            jax.config.update(QUICK.lower(), False)
            patch.setenv(QUICK, "0")
        yield
        jax.config.update(QUICK.lower(), usual)
    jax.clear_caches()
    gc.collect()
