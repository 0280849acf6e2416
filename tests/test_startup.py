"""Start-up: what help costs, what it must not import, what is kept from one process to the next."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

SLACK = 2.0
"""For machines slower than the one the limits are meant for."""
HEAVY = ("torch", "envpool", "matplotlib", "scipy.stats", "ray", "tensorboardX", "ale_py", "mujoco")


def run(*command: str, **variables: str) -> str:
    env = {**os.environ, **variables}
    return subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True, check=True).stdout


def cpu_seconds(*command: str) -> float:
    """User and system time of the faster of two runs."""
    times = []
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(*command)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


@pytest.mark.parametrize(
    ("words", "limit"), [(["--help"], 0.3), (["train", "--help"], 1.5), (["audit", "--help"], 1.5)]
)
def test_help_is_quick(words: list[str], limit: float) -> None:
    assert cpu_seconds("-m", "wocar", *words) < SLACK * limit


@pytest.mark.parametrize("command", ["train", "audit", "report"])
def test_what_help_does_not_import(command: str) -> None:
    code = f"import sys, wocar.cli.{command}_command; print([name for name in {HEAVY} if name in sys.modules])"
    assert run("-c", code) == "[]\n"


def test_training_does_not_import_pytorch(tmp_path: Path) -> None:
    """tensorboardX would."""
    arguments = "'ppo', '--env', 'CartPole-v1', '--steps', '64', '--n-steps', '16', '--n-envs', '4'"
    code = (
        "import sys; from wocar.cli.train_command import main\n"
        f"main([{arguments}, '--out', {str(tmp_path / 'run')!r}])\n"
        "print([name for name in ('torch', 'envpool', 'matplotlib', 'ray') if name in sys.modules])"
    )
    assert run("-c", code).splitlines()[-1] == "[]"
    assert list((tmp_path / "run").rglob("*events*"))


SHOWN = "import os, wocar.cli; print(os.environ.get('JAX_COMPILATION_CACHE_DIR'))"


def test_compiled_programs_are_kept_below_the_users_cache(tmp_path: Path) -> None:
    variables = {"XDG_CACHE_HOME": str(tmp_path), "JAX_COMPILATION_CACHE_DIR": "elsewhere"}
    assert run("-c", SHOWN, **variables) == "elsewhere\n"
    code = "import os; del os.environ['JAX_COMPILATION_CACHE_DIR']\n" + SHOWN
    folder = Path(run("-c", code, **variables).strip())
    assert folder.is_dir() and folder.is_relative_to(tmp_path / "wocar" / "jax")
    (tmp_path / "file").touch()
    assert run("-c", code, **{**variables, "XDG_CACHE_HOME": str(tmp_path / "file")}) == "None\n"


def test_a_program_from_the_cache_computes_the_same(tmp_path: Path) -> None:
    code = """
import jax, jax.numpy as jnp
@jax.jit
def f(x):
    return jax.lax.scan(lambda c, _: (jnp.tanh(c @ c.T / 7) + jnp.sin(c), c.sum()), x, None, 50)
y, sums = f(jax.random.normal(jax.random.key(0), (24, 24)))
print(y.tobytes().hex(), sums.tobytes().hex())
"""
    variables = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    cold, files = run("-c", code, **variables), set(tmp_path.iterdir())
    assert any("jit_f" in file.name for file in files)
    assert run("-c", code, **variables) == cold
    assert run("-c", code, **{**variables, "JAX_COMPILATION_CACHE_DIR": ""}) == cold
