"""The README's picture, docs/images/natural-worst.svg, from leaderboard/; `--check` fails where it has drifted."""

import argparse
import sys
from pathlib import Path

from wocar.report.leaderboard import read_leaderboard
from wocar.report.scatter import leaderboard_svg

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "natural-worst.svg"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    drawn = leaderboard_svg(read_leaderboard(ROOT / "leaderboard"))
    if not parser.parse_args().check:
        PICTURE.write_text(drawn)
    elif not PICTURE.is_file() or PICTURE.read_text() != drawn:
        sys.exit(f"{PICTURE.name} differs from leaderboard/: make tables")


if __name__ == "__main__":
    main()
