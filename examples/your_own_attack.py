"""Your own attack: a small class with a name; audits, recordings and wrappers then know it.

    python examples/your_own_attack.py [AGENT]

This one shows the agent the corner of the ball that lowers the score of the action it wants most.
"""

import argparse
import tempfile
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

import wocar


@dataclass(frozen=True)
class OneSignStep:
    """One step against the gradient of the largest score (discrete) or of the action's length (continuous)."""

    share: float = 1.0
    """Of the radius."""

    def perturb(self, policy: Any, ball: Any, obs: jax.Array, key: jax.Array) -> jax.Array:
        def wish(x: jax.Array) -> jax.Array:
            head = policy.head(x)
            return head.max(axis=-1).sum() if policy.discrete else (head**2).sum()

        return obs - self.share * ball.radius(obs) * jnp.sign(jax.grad(wish)(obs))  # the caller projects


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("agent", nargs="?", help="by default one is trained on CartPole")
    parser.add_argument("--eps", type=float, default=0.3)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--episodes", type=int, default=20)
    options = parser.parse_args()
    wocar.register_attack("one-sign-step", OneSignStep)
    with tempfile.TemporaryDirectory() as folder:
        if options.agent:
            agent = wocar.load(options.agent)
        else:
            agent = wocar.train("ppo", "CartPole-v1", steps=options.steps, out=f"{folder}/run")
    names = ["none", "one-sign-step", "pgd-10"]
    result = wocar.audit(agent, attacks=names, eps=options.eps, episodes=options.episodes)
    for name in names:
        print(f"{name:14} {result['attacks'][name]['mean']:8.1f}")


if __name__ == "__main__":
    main()
