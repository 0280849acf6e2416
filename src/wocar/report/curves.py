"""Training curves from run folders."""

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def read_curve(run: Path, name: str = "return") -> tuple[np.ndarray, np.ndarray]:
    """Steps and values of a metric over training."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    pairs = [(row["steps"], row[name]) for row in rows if row.get(name) is not None]
    steps, values = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array(steps), np.array(values)


def draw_curves(runs: dict[str, Path], title: str, out: Path, smooth: int = 10) -> None:
    """Return against steps, one line per run, each value the mean of up to `smooth` logged ones."""
    figure, axes = plt.subplots(figsize=(6, 3.6), constrained_layout=True)
    for label, run in runs.items():
        steps, values = read_curve(run)
        mean = np.array([values[max(0, i - smooth + 1) : i + 1].mean() for i in range(len(values))])
        axes.plot(steps, mean, label=label)
    axes.set(xlabel="environment steps", ylabel="return while training", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(out, dpi=120)
    plt.close(figure)
