"""Harden an agent, and hand it back to Stable-Baselines3.

python examples/harden_and_export.py my-agent-Hopper-v5.zip --eps 0.075 --out hardened
"""

import argparse
from pathlib import Path

import wocar


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("agent")
    parser.add_argument("--eps", type=float, required=True)
    parser.add_argument("--out", type=Path, default=Path("hardened"))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--quick", action="store_true", help="one attack and few episodes instead of suite fast-v2")
    options = parser.parse_args()
    quick = {"attacks": ["none", "pgd-10"], "episodes": 5, "check_attacks": ["pgd-10"]} if options.quick else {}
    found = wocar.harden(options.agent, options.out, eps=options.eps, steps=options.steps, say=print, **quick)
    print(f"without attack: {found.natural[0]:.1f} before, {found.natural[1]:.1f} after")
    print(f"worst attack:   {found.worst[0]:.1f} before, {found.worst[1]:.1f} after")
    if hasattr(wocar, "export"):
        wocar.export(found.agent, "sb3", options.out / "hardened.zip")
        print(f"for PPO.load: {options.out / 'hardened.zip'}")


if __name__ == "__main__":
    main()
