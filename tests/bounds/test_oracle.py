"""The same networks, inputs and radii as auto_LiRPA's (data/README.md)."""

import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from equinox import nn

from wocar.bounds import Ball, network_bounds

DATA = Path(__file__).parent / "data"
CASES = json.loads((DATA / "bounds.json").read_text())["cases"]
ARRAYS = np.load(DATA / "bounds.npz")
FUNCTIONS = {"Tanh": jnp.tanh, "ReLU": jax.nn.relu, "Flatten": jnp.ravel}

bounds = eqx.filter_jit(network_bounds)


def layer(case: str, entry: dict[str, Any]) -> eqx.Module:
    if entry["type"] in FUNCTIONS:
        return nn.Lambda(FUNCTIONS[entry["type"]])
    weight, bias = jnp.asarray(ARRAYS[f"{case}/w{entry['param']}"]), jnp.asarray(ARRAYS[f"{case}/b{entry['param']}"])
    size_out, size_in, *kernel = weight.shape
    if entry["type"] == "Conv2d":
        blank = nn.Conv2d(size_in, size_out, kernel, entry["stride"], key=jax.random.key(0))
        return eqx.tree_at(lambda x: (x.weight, x.bias), blank, (weight, bias[:, None, None]))
    blank = nn.Linear(size_in, size_out, key=jax.random.key(0))
    return eqx.tree_at(lambda x: (x.weight, x.bias), blank, (weight, bias))


@pytest.mark.parametrize("case", CASES)
def test_bounds_are_as_tight_as_auto_lirpa(case: str) -> None:
    network = nn.Sequential([layer(case, entry) for entry in CASES[case]["layers"]])
    x = jnp.asarray(ARRAYS[f"{case}/x"])
    np.testing.assert_allclose(jax.vmap(network)(x), ARRAYS[f"{case}/y"], atol=1e-4)
    for eps in CASES[case]["eps"]:
        for method in ("ibp", "crown_ibp", "crown"):
            ours = bounds(network, Ball(eps), x, method.replace("_", "-"))
            theirs = [ARRAYS[f"{case}/eps{eps:.6f}/{method}/{side}"] for side in ("lower", "upper")]
            if method == "ibp":
                np.testing.assert_allclose(ours, theirs, atol=1e-4)
            width, their_width = (np.mean(upper - lower) for lower, upper in (ours, theirs))
            assert width <= their_width * 1.001 + 1e-6, (eps, method)
