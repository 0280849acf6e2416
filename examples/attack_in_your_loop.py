"""Attack an agent in your own loop: the environment is wrapped, your policy sees what the attacker shows.

python examples/attack_in_your_loop.py [AGENT] --attack pgd-10 --eps 0.3
"""

import argparse
import tempfile

import gymnasium

import wocar


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("agent", nargs="?", help="by default one is trained on CartPole")
    parser.add_argument("--attack", default="pgd-10")
    parser.add_argument("--eps", type=float, default=0.3)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--episodes", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.agent:
            victim = wocar.load(options.agent)
        else:
            victim = wocar.train("ppo", "CartPole-v1", steps=options.steps, out=f"{folder}/run")
    env = wocar.AttackedObservation(gymnasium.make(victim.spec.id), victim, options.attack, options.eps)
    for episode in range(options.episodes):
        obs, _ = env.reset(seed=episode)
        total, over = 0.0, False
        while not over:
            action, _ = victim.predict(obs)  # or your own policy, of which `victim` is the copy that is attacked
            obs, reward, terminated, truncated, _ = env.step(action)
            total, over = total + float(reward), terminated or truncated
        print(f"episode {episode}: return {total:.1f} under {options.attack}")


if __name__ == "__main__":
    main()
