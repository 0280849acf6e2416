"""Real runs through the command line: what they write, that they repeat, and how they end when something goes wrong."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from wocar.agent import load_agent
from wocar.cli import main
from wocar.training.run_folder import load_config, load_run_agent

TINY = ["--n-envs", "2", "--n-steps", "16", "--hidden", "8"]
PPO = [*TINY, "--minibatches", "2", "--policy-epochs", "1", "--value-epochs", "1"]
LONG = ["--steps", "19200", "--checkpoint-every", "640"]  # 30 checkpoints of 20 iterations


def train(method: str, out: Path, *options: str) -> int:
    """Run in this process; returns the exit code."""
    tiny = PPO if method == "ppo" else TINY
    with pytest.raises(SystemExit) as stop:
        main(["train", method, *tiny, "--out", str(out), *options])
    return int(stop.value.code or 0)


def start(method: str, out: Path, *options: str, max_file: int | None = None) -> subprocess.Popen[str]:
    """Run in a process of its own; `max_file` units of 512 bytes are all a file may have, as on a full disk."""
    command = [sys.executable, "-m", "wocar", "train", method, *(PPO if method == "ppo" else TINY), "--out", str(out)]
    env = dict(os.environ)
    if max_file is not None:
        command = ["sh", "-c", f'ulimit -f {max_file}; exec "$@"', "sh", *command]
        env.pop("JAX_COMPILATION_CACHE_DIR", None)  # it could not be written either
    return subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True, env=env)


def wait_for_checkpoints(process: subprocess.Popen[str], out: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(checkpoints(out)) < count:
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def checkpoints(out: Path) -> list[Path]:
    return sorted(p for p in (out / "checkpoints").glob("*") if p.name.isdigit())


def metrics(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """The message of a refused run: one line, no traceback."""
    message = capsys.readouterr().err
    assert message.startswith("wocar: ")
    assert message.count("\n") == 1
    return message


def test_a_rollout_smaller_than_the_critic_s_minibatches(tmp_path: Path) -> None:
    options = ["--env", "CartPole-v1", "--n-envs", "4", "--n-steps", "5", "--steps", "400"]
    assert train("wocar-a2c", tmp_path / "run", *options) == 0
    assert all(np.isfinite(row["critic_loss"]) for row in metrics(tmp_path / "run"))


@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1", "Hopper-v4"])
@pytest.mark.parametrize("method", ["ppo", "a2c"])
def test_a_run_writes_what_it_did(method: str, env: str, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    assert train(method, out, "--env", env, "--steps", "300", "--checkpoint-every", "64", "--seed", "3") == 0
    record = json.loads((out / "run.json").read_text())
    assert record["config"]["env"] == env
    assert record["config"]["algorithm"]["n_steps"] == 16
    assert {"jax", "wocar", "python"} <= set(record["versions"])
    assert load_config(out).seed == 3
    rows = metrics(out)
    assert rows[-1]["steps"] == 320  # whole iterations
    assert [row["iteration"] for row in rows] == [2, 4, 6, 8, 10]
    assert (sum(row.get("episodes", 0) for row in rows) > 5) == (env != "Pendulum-v1")
    assert {"policy_loss", "value_loss", "entropy", "rate"} <= set(rows[-1])
    assert [p.name for p in checkpoints(out)] == ["0000008", "0000010"]
    assert [p for p in (out / "tensorboard").iterdir() if p.stat().st_size > 0]
    agent = load_agent(out / "agent")
    assert agent.spec.id == env
    assert agent.meta["steps"] == 320
    assert agent.normaliser.count >= 320
    agent.predict(np.zeros(agent.spec.obs_shape))
    assert contents(out / "agent") == {k: v for k, v in contents(checkpoints(out)[-1]).items() if k.startswith("agent")}
    assert not list(out.rglob("*.partial"))


def test_episodes_are_counted_though_segments_cut_them(tmp_path: Path) -> None:
    """Every episode that ended is in the metrics, whatever the checkpoints: CartPole's last at most 500 steps."""
    often, once = tmp_path / "often", tmp_path / "once"
    for out, every in ((often, "32"), (once, "320")):
        assert train("a2c", out, "--env", "CartPole-v1", "--steps", "320", "--checkpoint-every", every) == 0
    assert len(metrics(often)) == 10
    counted = sum(row["length"] * row["episodes"] for row in metrics(once) if "episodes" in row)
    assert 320 - 2 * 100 < counted <= 320


def test_without_normalisation_the_agent_sees_the_world_as_it_is(tmp_path: Path) -> None:
    options = ["--env", "CartPole-v1", "--steps", "64", "--no-normalise-obs", "--no-normalise-reward"]
    assert train("a2c", tmp_path / "run", *options) == 0
    raw = np.array([[-300.0, 0.5, 2.0, 1e6]])
    np.testing.assert_allclose(load_agent(tmp_path / "run" / "agent").normaliser(raw), raw)


def test_the_seed_decides_everything(tmp_path: Path) -> None:
    for name, seed, threads in (("a", "1", "1"), ("b", "1", "2"), ("c", "2", "2")):
        options = ["--env", "Hopper-v4", "--steps", "100", "--seed", seed, "--threads", threads]
        assert train("ppo", tmp_path / name, *options) == 0
    weights = [contents(tmp_path / name / "agent")["agent.safetensors"] for name in "abc"]
    assert weights[0] == weights[1]
    assert weights[0] != weights[2]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """The folder of a run ended by kill -9 after its second checkpoint, and the agent it would have made."""
    folder = tmp_path_factory.mktemp("killed")
    whole = start("ppo", folder / "whole", "--env", "Hopper-v4", *LONG)
    victim = start("ppo", folder / "run", "--env", "Hopper-v4", *LONG)
    wait_for_checkpoints(victim, folder / "run", 2)
    victim.kill()
    victim.wait()
    assert not (folder / "run" / "agent").exists()
    _, message = whole.communicate(timeout=120)
    assert whole.returncode == 0, message
    return folder / "run", contents(folder / "whole" / "agent")["agent.safetensors"]


def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "run"))


def test_a_killed_run_resumes_to_the_same_bytes(killed: tuple[Path, bytes], tmp_path: Path) -> None:
    run, expected = killed
    out = copy(run, tmp_path)
    with open(out / "metrics.jsonl", "a") as file:
        file.write('{"iteration": 99')  # cut short by the kill
    (out / "checkpoints" / "0000999.partial").mkdir()
    assert load_run_agent(out).spec.id == "Hopper-v4"  # a checkpoint can be used before the run is done
    process = start("ppo", out, "--resume")
    _, message = process.communicate(timeout=120)
    assert process.returncode == 0, message
    assert contents(out / "agent")["agent.safetensors"] == expected
    iterations = [row["iteration"] for row in metrics(out)]
    assert iterations == sorted(set(iterations))
    assert iterations[-1] == 600
    before = contents(out / "agent")
    assert train("ppo", out, "--resume") == 0  # nothing left to do
    assert contents(out / "agent") == before


@pytest.mark.parametrize(("method", "env"), [("a2c", "CartPole-v1"), ("a2c", "Pendulum-v1"), ("ppo", "CartPole-v1")])
def test_going_on_from_a_checkpoint_changes_nothing(method: str, env: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert train(method, out, "--env", env, "--steps", "320", "--checkpoint-every", "64") == 0
    whole, rows = contents(out / "agent"), metrics(out)
    shutil.rmtree(out / "agent")
    shutil.rmtree(checkpoints(out)[-1])
    assert train(method, out, "--resume") == 0
    assert contents(out / "agent") == whole
    clock = ("time", "rate", "seconds")
    assert [{k: v for k, v in row.items() if k not in clock} for row in metrics(out)] == [
        {k: v for k, v in row.items() if k not in clock} for row in rows
    ]


def test_a_full_disk_is_told_and_costs_nothing(killed: tuple[Path, bytes], tmp_path: Path) -> None:
    out = copy(killed[0], tmp_path)
    (out / "metrics.jsonl").unlink()
    before = contents(out / "checkpoints")
    process = start("ppo", out, "--resume", max_file=3)
    _, message = process.communicate(timeout=120)
    assert process.returncode == 2, message
    assert "Traceback" not in message
    lines = [line for line in message.splitlines() if line.startswith("wocar: ")]
    assert len(lines) == 1
    assert "cannot write" in lines[0]
    assert "agent.safetensors: File too large" in lines[0]
    assert contents(out / "checkpoints") == before


@pytest.fixture
def with_interrupts() -> Iterator[None]:
    """Processes started here do, also where the tests themselves run in the background of a shell and do not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("with_interrupts")
def test_interrupted_by_the_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    process = start("ppo", out, "--env", "Pendulum-v1", "--steps", "10000000", "--checkpoint-every", "320")
    wait_for_checkpoints(process, out, 1)
    assert train("ppo", out, "--resume") == 2
    assert "another process is training in" in one_line(capsys)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in message
    assert message.splitlines()[-1].startswith("wocar: stopped")
    assert load_run_agent(out).meta["steps"] > 0


@pytest.mark.parametrize(("method", "option"), [("ppo", "--policy-lr"), ("ppo", "--value-lr"), ("a2c", "--policy-lr")])
@pytest.mark.parametrize("every", ["32", "96"])
def test_divergence_is_told_and_never_checkpointed(
    method: str, option: str, every: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    options = ["--env", "Pendulum-v1", "--steps", "640", "--checkpoint-every", every, option, "1e38"]
    assert train(method, out, *options) == 2
    message = capsys.readouterr().err
    assert "diverged" in message
    assert "lower learning rate" in message
    assert not (out / "agent").exists()
    for folder in checkpoints(out):
        for file in folder.glob("*.safetensors"):
            assert all(np.all(np.isfinite(x)) for x in load_file(file).values())
