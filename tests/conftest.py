"""Test environment: CPU, a compilation cache that survives the run, Hypothesis without deadlines."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

CACHE = Path(__file__).resolve().parents[1] / ".cache"
QUICK = "JAX_DISABLE_MOST_OPTIMIZATIONS"

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
os.environ.setdefault(QUICK, "1")  # most tests compile longer than they run

settings.register_profile("wocar", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("wocar")


@pytest.fixture(autouse=True, scope="module")
def compiled_programs(request: pytest.FixtureRequest) -> Iterator[None]:
    """A module with RUNS_LONG has its programs optimised, here and in processes that it starts.

    All are dropped after it: each maps pages of its own, and Linux grants a process 65,530 maps, fewer than all need.
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
