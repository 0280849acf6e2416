"""Runtime settings: JAX's platform and the thread pools of XLA and BLAS, the same from Python and the command line.

Networks here are small: threads inside one product cost more than they bring, and compete with the simulator's.
"""

import contextlib
import functools
import importlib
import os
import sys

JAX = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
BLAS = "OPENBLAS_NUM_THREADS"


@functools.cache
def configure() -> None:
    """Set what the environment leaves open, once in a process; to be called before JAX is imported.

    JAX reads its variables when it is imported, OpenBLAS when NumPy is: where that was earlier, its pool is limited
    through threadpoolctl, if that is installed.
    """
    for name, value in JAX.items():
        os.environ.setdefault(name, value)
    if BLAS in os.environ:
        return
    os.environ[BLAS] = "1"
    if "numpy" in sys.modules:
        with contextlib.suppress(ImportError):
            pools = importlib.import_module("threadpoolctl").ThreadpoolController()
            pools.select(internal_api="openblas").limit(limits=1)
