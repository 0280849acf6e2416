"""Preset `small` of SAC's methods: what WocaR-SAC has, so that the two compare."""

import pytest

from wocar.methods.presets import default_config

SHARED = ("hidden", "batch_size", "train_freq", "policy_delay", "target_entropy")


@pytest.mark.parametrize("task", ["Hopper-v4", "HalfCheetah-v4", "Walker2d-v4", "Ant-v4"])
@pytest.mark.parametrize("method", ["sac", "sa-sac", "valt-eps-sac"])
def test_networks_updates_and_steps_are_those_of_wocar_sac(method: str, task: str) -> None:
    small, wocar = default_config(method, task, "small"), default_config("wocar-sac", task)
    assert small.steps == wocar.steps
    assert all(getattr(small.algorithm, name) == getattr(wocar.algorithm, name) for name in SHARED)
    assert small.steps < default_config(method, task).steps
