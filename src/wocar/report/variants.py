"""Names of the variants of a method: the settings in which agents differ."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

SEED = re.compile(r"[-_]?(seed|s)[-_]?\d+$")


class Varied(Protocol):
    """An agent with its settings."""

    @property
    def name(self) -> str: ...

    @property
    def seed(self) -> Any: ...

    @property
    def command(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, str]: ...


def variants_of(family: Sequence[Varied]) -> list[str]:
    """For each member the settings that differ from the most common ones; "" where none does."""
    common = set.intersection(*(set(member.settings) for member in family))
    chosen = {key: [member.settings[key] for member in family] for key in sorted(common)}
    varying = {key: values for key, values in chosen.items() if len(set(values)) > 1}
    rows = [tuple(values[i] for values in varying.values()) for i in range(len(family))]
    counts = Counter(rows)
    plain = min(range(len(family)), key=lambda i: (-counts[rows[i]], len(family[i].command) or 10**6))
    named = [
        ", ".join(
            _setting_text(key, value)
            for key, value, usual in zip(varying, row, rows[plain], strict=True)
            if value != usual
        )
        for row in rows
    ]
    return _distinguished(family, named)


def _distinguished(family: Sequence[Varied], variants: list[str]) -> list[str]:
    """Two agents of one seed in one variant differ in something unknown: add the names of their files."""
    stems = [SEED.sub("", member.name) for member in family]
    rows = list(zip(variants, stems, strict=True))
    seeds = Counter((variant, member.seed) for variant, member in zip(variants, family, strict=True))
    clashing = {variant for (variant, _), n in seeds.items() if n > 1}
    sizes = Counter(rows)
    usual = {
        variant: min((r for r in rows if r[0] == variant), key=lambda r: (-sizes[r], len(r[1]))) for variant in clashing
    }
    return [
        " ".join(filter(None, (row[0], f"[{row[1]}]"))) if row[0] in clashing and row != usual[row[0]] else row[0]
        for row in rows
    ]


def _setting_text(key: str, value: str) -> str:
    return f"{value} steps" if key == "steps" else f"{key}={value}"


def rounded_steps(steps: int) -> str:
    """Two digits: a training ends with a whole iteration, a little after the requested steps."""
    rounded = float(f"{steps:.1e}")
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if rounded >= size:
            return f"{rounded / size:g}{letter}"
    return f"{rounded:g}"
