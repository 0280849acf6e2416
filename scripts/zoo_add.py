"""Add an agent to the zoo, or replace the one of that name: scripts/zoo_add.py RUN_OR_AGENT AUDIT_JSON TASK/NAME

The audit must be of this very agent; its numbers go into the entry and the model card.
"""

import argparse
from pathlib import Path

from wocar.api import load
from wocar.files import read_json
from wocar.types import UserError
from wocar.zoo.card import write_entry

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agent", type=Path, help="run folder or agent folder")
    parser.add_argument("audit", type=Path)
    parser.add_argument("name", help="such as Hopper-v4/wocar-sac")
    parser.add_argument("--about", default="", help="which of how many seeds it is, in a few words")
    parser.add_argument("--out", type=Path, default=ROOT / "src" / "wocar" / "zoo" / "agents")
    options = parser.parse_args()
    if not options.agent.is_dir():
        parser.error("only agents trained here go into the zoo: name a run folder or an agent folder")
    run = options.agent / "run.json"
    command = read_json(run).get("command", "") if run.is_file() else ""
    try:
        entry = write_entry(
            options.out,
            options.name,
            load(options.agent),
            read_json(options.audit),
            options.about,
            train_command=command,
        )
    except UserError as error:
        parser.error(str(error))
    print(f"{entry.name}: natural {entry.natural['mean']:.0f}, worst {entry.worst['mean']:.0f} ({entry.data['worst']})")


if __name__ == "__main__":
    main()
