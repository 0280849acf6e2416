"""`wocar import` as a user runs it."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from wocar.agent import load_agent
from wocar.cli import main


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(["import", *map(str, argv)])
    return int(stop.value.code or 0), capsys.readouterr().err


def test_a_zip_becomes_an_agent(sb3_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, sb3_data / "ppo-Toy-v0.zip", "--out", tmp_path / "agent", "--env", "Other-v1")
    assert code == 0
    assert "ppo on Other-v1" in said
    assert "normalised by ppo-Toy-v0_vecnormalize.pkl" in said
    expected = np.load(sb3_data / "ppo-Toy-v0.npz")
    agent = load_agent(tmp_path / "agent")
    np.testing.assert_allclose(agent.predict(expected["obs"])[0], expected["actions"], atol=1e-5)
    code, said = run(capsys, sb3_data / "td3-Toy-v0.zip", "--out", tmp_path / "agent", "--replace")
    assert code == 0
    assert "no VecNormalize statistics given or found" in said
    assert load_agent(tmp_path / "agent").meta["method"] == "td3"


def test_an_attack_file_becomes_two_agents(
    tmp_path: Path, forge: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "attack.model"
    file.write_bytes(forge.torch_zip(forge.model_tree(np.random.default_rng(0), (11, 3))))
    for _ in range(2):  # a second import takes the place of the first
        code, said = run(capsys, file, "--out", tmp_path / "out")
        assert code == 0
        assert f"adversary trained against it in {tmp_path / 'out' / 'adversary'}" in said
    assert load_agent(tmp_path / "out").spec.id == "Hopper-v4"
    assert load_agent(tmp_path / "out" / "adversary").meta["attack"] == "sa-rl"
    code, said = run(capsys, file, "--out", tmp_path)
    assert code == 2
    assert "holds other files" in said
    code, said = run(capsys, file, "--out", tmp_path / "out", "--normaliser", file)
    assert code == 2
    assert "no use for a VecNormalize" in said


def test_a_wrong_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.model").write_text("not a model")
    for file, why in ((tmp_path / "x.model", "not a torch file"), (tmp_path / "absent.zip", "there is no ")):
        code, said = run(capsys, file, "--out", tmp_path / "out")
        assert code == 2
        assert said.startswith("wocar: ") and said.count("\n") == 1 and why in said and str(file) in said
        assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_another_agent_is_not_replaced_in_silence(
    sb3_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = sorted(sb3_data.glob("*.zip"))[:2]
    out = tmp_path / "agent"
    assert run(capsys, first, "--out", out, "--env", "CartPole-v1")[0] == 0
    kept = (out / "agent.json").read_bytes()
    assert run(capsys, first, "--out", out, "--env", "CartPole-v1")[0] == 0
    code, said = run(capsys, second, "--out", out, "--env", "CartPole-v1")
    assert code == 2 and "holds another agent" in said and (out / "agent.json").read_bytes() == kept
    assert run(capsys, second, "--out", out, "--env", "CartPole-v1", "--replace")[0] == 0
    assert (out / "agent.json").read_bytes() != kept
