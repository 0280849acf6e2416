"""Your own environment: register it with Gymnasium, then train, audit and write its sensors by its id.

python examples/your_own_environment.py
"""

import argparse
import tempfile
from typing import Any

import gymnasium
import numpy as np

import wocar


class Valve(gymnasium.Env):
    """Keep a tank half full: level and inflow are seen, the action opens the valve."""

    observation_space = gymnasium.spaces.Box(-1, 2, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.level, self.inflow = self.np_random.uniform(0.3, 0.7), self.np_random.uniform(0, 0.1)
        return self._seen(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        outflow = 0.05 * (1 + float(np.clip(action[0], -1, 1)))
        self.level += self.inflow - outflow
        self.inflow = float(np.clip(self.inflow + self.np_random.normal(0, 0.01), 0, 0.1))
        overflows = not 0 < self.level < 1
        return self._seen(), 1 - 2 * abs(self.level - 0.5), overflows, False, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.level, self.inflow])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--episodes", type=int, default=20)
    options = parser.parse_args()
    gymnasium.register("Valve-v0", Valve, max_episode_steps=100)
    with tempfile.TemporaryDirectory() as folder:
        agent = wocar.train("wocar-ppo", "Valve-v0", steps=options.steps, eps=0.2, out=f"{folder}/run")
    threat = wocar.Threat(0.1, units="raw", radii=(1.0, 0.0))  # the level's sensor is off by 0.1, the inflow's is right
    result = wocar.audit(agent, attacks=["none", "maxdiff-plain", "sensor-bias:1"], threat=threat,
                         episodes=options.episodes)  # fmt: skip
    for name, row in result["attacks"].items():
        print(f"{name:14} {row['mean']:8.1f}")


if __name__ == "__main__":
    main()
