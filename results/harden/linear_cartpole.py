"""Linear policies of CartPole under random directors: is there one that an attacker within eps cannot break?"""

import sys

import equinox as eqx
import jax.numpy as jnp
import numpy as np

import wocar
from wocar.agent import Agent
from wocar.envs import env_spec
from wocar.networks import GreedyPolicy, ScaledNormaliser, linear

SCALE = np.array([1.0, 1.0, 0.1, 0.5, 1.0])
"""Sizes of the state's dimensions, and of a constant."""


def returns(gains: np.ndarray, directors: np.ndarray, eps: float, rng: np.random.Generator) -> np.ndarray:
    """(n,) Of policies `gains . s > 0` whose sum an attacker moves by ±eps |gains|, the sign linear in the state."""
    s, alive, total = rng.uniform(-0.05, 0.05, (len(gains), 4)), np.ones(len(gains), bool), np.zeros(len(gains))
    reach = eps * np.abs(gains).sum(axis=1)
    for _ in range(500):
        push = np.sign((directors[:, :4] * s).sum(axis=1) + directors[:, 4]) * reach
        force = np.where((gains * s).sum(axis=1) + push > 0, 10.0, -10.0)
        x, v, angle, turn = s.T
        cos, sin = np.cos(angle), np.sin(angle)
        pull = (force + 0.05 * turn**2 * sin) / 1.1
        turning = (9.8 * sin - cos * pull) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        moved = (
            x + 0.02 * v,
            v + 0.02 * (pull - 0.05 * turning * cos / 1.1),
            angle + 0.02 * turn,
            turn + 0.02 * turning,
        )
        s, total = np.stack(moved, axis=1), total + alive
        alive &= (np.abs(s[:, 0]) < 2.4) & (np.abs(s[:, 2]) < 0.2095)
    return total


def random_directors(count: int, rng: np.random.Generator) -> np.ndarray:
    """Half of them without a constant; the first two push one way for the whole episode."""
    found = rng.standard_normal((count, 5)) / SCALE
    found[: count // 2, 4] = 0
    found[:2] = [[0, 0, 0, 0, 1], [0, 0, 0, 0, -1]]
    return found


def agent(gains: np.ndarray) -> Agent:
    spec = env_spec("CartPole-v1")
    network = eqx.nn.Sequential([linear(jnp.asarray(np.stack([-gains, gains]), jnp.float32), jnp.zeros(2))])
    return Agent(spec, ScaledNormaliser.identity(spec.obs_shape), GreedyPolicy(network))


def main() -> None:
    eps, rng = float(sys.argv[1]) if len(sys.argv) > 1 else 0.07, np.random.default_rng(0)
    mean, spread = np.log([0.3, 0.6, 3.0, 0.7]), 0.6
    for _ in range(15):
        gains = np.exp(mean + spread * rng.standard_normal((40, 4)))
        attacks = np.concatenate([random_directors(60, rng) for _ in gains])
        kept = returns(np.repeat(gains, 60, axis=0), attacks, eps, rng).reshape(40, 60)
        best = np.argsort(-(kept.min(axis=1) + 0.1 * kept.mean(axis=1)))[:8]
        mean, spread = np.log(gains[best]).mean(axis=0), max(0.05, 0.85 * spread)
    policy = np.repeat(np.exp(mean)[None], 400, axis=0)
    print(f"eps {eps}: least return under 400 directors", returns(policy, random_directors(400, rng), eps, rng).min())
    found = wocar.audit(
        agent(np.exp(mean)), attacks=["none", "maxdiff-plain", "pgd-10", "director"], eps=eps, episodes=20
    )
    print({name: row["mean"] for name, row in found["attacks"].items()})


if __name__ == "__main__":
    main()
