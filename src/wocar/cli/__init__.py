"""The command line: wocar train | audit | ..."""

import importlib
import sys

from wocar.runtime import configure

configure()  # before anything imports JAX

COMMANDS = {
    "train": "train an agent",
    "audit": "returns of an agent without attack and under attacks",
    "estimate": "worst-attack value of a fixed policy, no attacker trained",
    "zoo": "trained agents that come with wocar, with audited numbers",
    "harden": "robust fine-tuning of a trained agent, audited before and after",
    "sensors": "a file of what an attacker may do to each sensor, to be edited",
    "methods": "training methods, and where the settings of one come from",
    "attacks": "attacks by name, and what each needs of an agent",
    "suites": "frozen sets of attacks",
    "reproduce": "a table or figure of the paper",
    "report": "one page of what was trained and measured",
    "record": "a GIF or MP4 of an agent, with or without an attack",
    "import": "an agent from a Stable-Baselines3 zip or a published .model file",
    "export": "an agent for Stable-Baselines3 or as an ONNX file",
    "completion": "a script that completes commands in bash or zsh",
}


def main(argv: list[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: wocar COMMAND [options]\n")
        for name, text in COMMANDS.items():
            print(f"  {name:10} {text}")
        print("\nwocar COMMAND --help tells more; wocar -V tells the version. --env MODULE:ID imports a")
        print("module, also one of this folder; --env-kwargs a=1,b=true goes to the environment.")
        sys.exit(0 if argv else 2)
    if argv[0] in ("-V", "--version"):
        from wocar import __version__

        print(__version__)
        return
    from wocar.cli.env_kwargs import with_env_kwargs, with_full_ids
    from wocar.text import did_you_mean, plain_text
    from wocar.types import UserError  # imports JAX, which takes longer than all of the above

    try:
        if argv[0] not in COMMANDS:
            close = did_you_mean(argv[0], COMMANDS)
            raise UserError(f"unknown command {argv[0]!r}{close}; commands: {', '.join(COMMANDS)}")
        options = with_full_ids(with_env_kwargs(argv[1:]))
        sys.exit(importlib.import_module(f"wocar.cli.{argv[0]}_command").main(options))
    except UserError as error:
        print(f"wocar: {plain_text(str(error))}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of the output has gone
        from wocar.cli.options import drop_output

        drop_output()
        sys.exit(141)
    except OSError as error:  # of a file: no permission, a full disk, a name too long
        if error.filename is None:
            raise
        print(f"wocar: {plain_text(str(error.filename))}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        print(f"wocar: {str(stop) or 'stopped'}", file=sys.stderr)
        sys.exit(130)
