"""Whole estimates that keep the value after each exploration, and where a quick one would have ended: the same numbers.

`python results/estimates/quick_or_whole.py zoo:Hopper-v4/wocar-ppo ...` writes results/estimates/quick.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import wocar
from wocar.evaluation.estimate import settled

FOLDER = Path(__file__).parent / "quick"


def whole(name: str) -> dict[str, Any]:
    values: dict[float, list[float]] = {}
    began = time.process_time()

    def seen(eps: float, done: int, total: int, value: float) -> None:
        values.setdefault(eps, []).append(value)

    found = wocar.estimate(name, quick=False, on_progress=seen)
    natural, rows = found["natural_measured"], []
    for eps, v in values.items():
        ends = next((k for k in range(1, len(v) + 1) if settled(v[:k], natural)), len(v))
        rows.append({"eps": eps, "quick": v[ends - 1], "explorations": ends, "whole": v[-1], "values": v})
    spent = time.process_time() - began
    flags = found.get("flags")
    return {"agent": name, "natural": natural, "rows": rows, "radii": found["radii"], "seconds": spent, "flags": flags}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        file = FOLDER / f"{name.removeprefix('zoo:').replace('/', '-')}.json"
        if not file.exists():
            file.write_text(json.dumps(whole(name), indent=1) + "\n")
