"""A monitor in a control loop: brake where an attacker could cause too many different actions.

    python examples/monitor.py [AGENT] --eps 0.05 --limit 0.5

`action_bounds` is sound: no perturbation within the threat leads outside, and a call takes a fraction of a millisecond.
"""

import argparse
import tempfile
import time

import gymnasium
import numpy as np

import wocar


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("agent", nargs="?", help="by default one is trained on Pendulum")
    parser.add_argument("--eps", type=float, default=0.05)
    parser.add_argument("--limit", type=float, default=0.5, help="of the largest width of the action set")
    parser.add_argument("--steps", type=int, default=40_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.agent:
            agent = wocar.load(options.agent)
        else:
            agent = wocar.train("ppo", "Pendulum-v1", steps=options.steps, out=f"{folder}/run")
    threat, env = wocar.Threat(options.eps), gymnasium.make(agent.spec.id)
    obs, _ = env.reset(seed=0)
    braked, times, total, over = 0, [], 0.0, False
    while not over:
        start = time.perf_counter()
        could = wocar.action_bounds(agent, obs, threat)
        times.append(time.perf_counter() - start)
        action, _ = agent.predict(obs)
        if could.width > options.limit:
            action, braked = np.zeros_like(action), braked + 1  # no torque: what is safe depends on the machine
        obs, reward, terminated, truncated, _ = env.step(action)
        total, over = total + float(reward), terminated or truncated
    print(f"return {total:.1f}; braked at {braked} of {len(times)} steps; {1e3 * np.median(times):.2f} ms per call")


if __name__ == "__main__":
    main()
