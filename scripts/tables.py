"""Tables of README.md that are generated from committed results; `--check` fails where one has drifted.

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent


def bench() -> str:
    """The ratios of results/bench.json, each with what is asked of it."""
    found = json.loads((ROOT / "results" / "bench.json").read_text())["ratios"]
    lines = ["| ratio | measured | asked |", "|---|---:|---|"]
    for name, ratio in found.items():
        asked = f"{ratio['asked']}, {'met' if ratio['met'] else '**missed**'}" if "asked" in ratio else ""
        lines.append(f"| {name} | {ratio['value']:.2f} | {asked} |")
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {"bench": bench}


def filled(text: str) -> str:
    """The text with every table as the results say."""
    for name, table in TABLES.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        text = pattern.sub(lambda m, table=table: m[1] + table() + "\n" + m[2], text)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for file in (ROOT / "README.md",):
        old = file.read_text()
        new = filled(old)
        if check and new != old:
            sys.exit(f"{file.name} differs from the committed results: make tables")
        file.write_text(new)


if __name__ == "__main__":
    main()
