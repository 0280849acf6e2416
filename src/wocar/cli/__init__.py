"""The command line: wocar train | audit | ..."""

import importlib
import sys

from wocar.runtime import configure

configure()  # before anything imports JAX

COMMANDS = {
    "train": "train an agent",
    "audit": "returns of an agent without attack and under attacks",
    "estimate": "worst-attack value of a fixed policy, no attacker trained",
    "harden": "robust fine-tuning of a trained agent, audited before and after",
    "sensors": "a file of what an attacker may do to each sensor, to be edited",
    "zoo": "trained agents that come with wocar, with audited numbers",
    "methods": "training methods, and where the settings of one come from",
    "reproduce": "a table or figure of the paper",
    "report": "one page of what was trained and measured",
    "record": "a GIF or MP4 of an agent, with or without an attack",
    "import": "an agent from a Stable-Baselines3 zip or a published .model file",
}


def main(argv: list[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: wocar COMMAND [options]\n")
        for name, text in COMMANDS.items():
            print(f"  {name:10} {text}")
        print("\nwocar COMMAND --help tells more.")
        sys.exit(0 if argv else 2)
    if argv[0] == "--version":
        from wocar import __version__

        print(__version__)
        return
    from wocar.types import UserError  # imports JAX, which takes longer than all of the above

    try:
        if argv[0] not in COMMANDS:
            raise UserError(f"unknown command {argv[0]!r}; commands: {', '.join(COMMANDS)}")
        sys.exit(importlib.import_module(f"wocar.cli.{argv[0]}_command").main(argv[1:]))
    except UserError as error:
        print(f"wocar: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("wocar: stopped", file=sys.stderr)
        sys.exit(130)
