"""Test environment: CPU, a compilation cache that survives the run, Hypothesis without deadlines."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

CACHE = Path(__file__).resolve().parents[1] / ".cache"

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")

settings.register_profile("wocar", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("wocar")


@pytest.fixture(autouse=True, scope="module")
def drop_compiled_programs() -> Iterator[None]:
    """Each program maps pages of its own, and Linux grants a process 65,530 maps: all tests together need more."""
    yield
    import jax

    jax.clear_caches()
    gc.collect()
