"""Generated parts of docs/methods/: what the registry knows of methods, and their rows of the leaderboard.

`<!-- method A,B -->` to `<!-- /method -->` and `<!-- method-results A -->` to `<!-- /method-results -->`; `--check`
fails where one has drifted.
"""

import argparse
import re
import sys

from tables import ROOT, headline, median_agents

from wocar.methods.method import Method
from wocar.methods.registry import known_method

PAGES = ROOT / "docs" / "methods"
FACTS = re.compile(r"(<!-- method (\S+) -->\n).*?(<!-- /method -->)", re.S)
RESULTS = re.compile(r"(<!-- method-results (\S+) -->\n).*?(<!-- /method-results -->)", re.S)


def facts(names: str) -> str:
    """A row for each method: its entry of the registry."""
    lines = ["| method | what it is | algorithm | objective | presets |", "|---|---|---|---|---|"]
    for name in names.split(","):
        method = known_method(name)
        if method is None:
            sys.exit(f"no method {name}")
        kinds = (method.algorithm, method.objective or method.attack)
        cells = [f"`{kind.__module__}.{kind.__name__}`" if kind else "" for kind in kinds]
        lines.append(f"| `{name}` | {method.about} | {' | '.join(cells)} | {_presets(method)} |")
    return "\n".join(lines)


def _presets(method: Method) -> str:
    first, *others = method.presets
    return ", ".join([f"`{first}` (default)", *(f"`{name}`" for name in others)])


def results(name: str) -> str:
    """The method's median agents on the leaderboard, trained here and published."""
    return headline([agents for agents in median_agents() if agents[0]["method"] == name])


def filled(text: str) -> str:
    text = FACTS.sub(lambda m: f"{m[1]}{facts(m[2])}\n{m[3]}", text)
    return RESULTS.sub(lambda m: f"{m[1]}{results(m[2])}\n{m[3]}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for file in sorted(PAGES.glob("*.md")):
        old = file.read_text()
        new = filled(old)
        if check and new != old:
            sys.exit(f"{file.relative_to(ROOT)} differs from registry and leaderboard: make tables")
        if new != old:
            file.write_text(new)


if __name__ == "__main__":
    main()
