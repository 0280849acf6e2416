"""Labels: names and numbers as the page writes them."""

import math
import re

from wocar.report.radius import Radius

ATTACK_LABELS = {"none": "no attack", "maxdiff": "MaxDiff", "robust-sarsa": "Robust Sarsa", "sa-rl": "SA-RL"}
ATTACK_LABELS |= {"pa-ad": "PA-AD", "minbest": "MinBest", "worst": "worst", "rs-mad": "RS + MaxDiff"}


def attack_label(attack: str) -> str:
    return ATTACK_LABELS.get(attack, attack.upper() if attack.startswith("pgd") else attack)


def eps_text(eps: float) -> str:
    """0.075, or 3/255 where it is a number of brightness levels."""
    steps = eps * 255
    return f"{round(steps)}/255" if abs(steps - round(steps)) < 1e-4 and len(f"{eps:g}") > 6 else f"{eps:g}"


def radius_text(radius: Radius | None) -> str:
    if radius is None:
        return "no attack"
    return f"eps {eps_text(radius.eps)}{'' if radius.as_in_paper else f' ({radius.measure})'}"


def number(value: float) -> str:
    """A return: no decimals from 100 on, else one."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}"


def plus_minus(mean: float, std: float) -> str:
    """Mean and standard deviation, with the digits of the mean."""
    digits = 0 if abs(mean) >= 100 else 1
    return f"{mean:.{digits}f}" if math.isnan(std) else f"{mean:.{digits}f} ± {std:.{digits}f}"


def slug(radius: Radius | None) -> str:
    """For file names."""
    if radius is None:
        return "natural"
    text = f"eps{radius.eps:g}" + ("" if radius.as_in_paper else f"{radius.measure}")
    return re.sub(r"[^\w-]+", "_", text)
