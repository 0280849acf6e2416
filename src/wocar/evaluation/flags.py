"""Self-checks of an audit: reasons to trust its numbers less, each a pure function of its rows."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from wocar.evaluation.audit_result import AuditFlag, AuditRow
from wocar.evaluation.statistics import surely_below

MIN_EPISODES = 20
LITTLE_USED = 0.25
MANY_ZEROS = 0.1
STILL_FALLS = 0.05
"""Part of the harm that the last rung may add."""


def flags_of(rows: dict[str, AuditRow], worst: str, training_return: float | None = None) -> list[AuditFlag]:
    """All flags of the rows of one radius."""
    found = [
        *zero_gradients(rows),
        *random_beats_gradient(rows),
        *budget_unused(rows),
        *selection_disagrees(rows, worst),
        *too_few_episodes(rows),
        *never_ended(rows),
        *still_improving(rows),
        *not_converged(rows),
        *far_from_training(rows, training_return),
    ]
    return [{**flag, "eps": rows[flag["attack"]]["eps"]} for flag in found]


def zero_gradients(rows: dict[str, AuditRow]) -> Iterator[AuditFlag]:
    """The victim is saturated: a search by gradient does not know where to go."""
    for name, row in rows.items():
        share = row.get("zero_gradients") or 0.0
        if row["eps"] > 0 and share > MANY_ZEROS:
            yield _flag("zero-gradients", name, f"{name}'s gradient is zero at {share:.0%} of the states probed")


def random_beats_gradient(rows: dict[str, AuditRow]) -> Iterator[AuditFlag]:
    """Noise does more harm than a search: the gradient leads nowhere."""
    chance = [name for name, row in rows.items() if row["family"] == "random"]
    for name, row in rows.items():
        better = [other for other in chance if surely_below(rows[other], row)]
        if row["family"] in ("gradient", "learned") and better:
            text = f"{better[0]} ({rows[better[0]]['mean']:.1f}) does more harm than {name} ({row['mean']:.1f})"
            yield _flag("random-beats-gradient", name, text)


def budget_unused(rows: dict[str, AuditRow]) -> Iterator[AuditFlag]:
    for name, row in rows.items():
        used = row.get("budget_used")
        if row["eps"] > 0 and row["family"] != "random" and used is not None and used < LITTLE_USED:
            yield _flag("budget-unused", name, f"{name} moves observations by {used:.0%} of eps on average")


def selection_disagrees(rows: dict[str, AuditRow], worst: str) -> Iterator[AuditFlag]:
    """Selected as worst, yet not so on fresh episodes."""
    for name, row in rows.items():
        select = row.get("select")
        if select and (surely_below(select, row) or surely_below(row, select)):
            text = f"{name} has {select['mean']:.1f} on the episodes of selection and {row['mean']:.1f} on fresh ones"
            yield _flag("selection-disagrees", name, text)
    lower = min(rows, key=lambda name: rows[name]["mean"])
    if surely_below(rows[lower], rows[worst]):
        yield _flag("selection-disagrees", lower, f"{lower} is below {worst}, the worst selected, on fresh episodes")


def too_few_episodes(rows: dict[str, AuditRow]) -> Iterator[AuditFlag]:
    name, row = min(rows.items(), key=lambda item: item[1]["episodes"])
    if row["episodes"] < MIN_EPISODES:
        yield _flag("few-episodes", name, f"{row['episodes']} episodes; fewer than {MIN_EPISODES} say little")


def never_ended(rows: dict[str, AuditRow]) -> Iterator[AuditFlag]:
    for name, row in rows.items():
        if row.get("cut_episodes"):
            text = f"{row['cut_episodes']} of {row['episodes']} episodes of {name} were cut at {row['max_steps']} steps"
            yield _flag("never-ended", name, text)


def still_improving(rows: dict[str, AuditRow]) -> Iterator[AuditFlag]:
    """A longer training would have found a stronger attacker."""
    for name, row in rows.items():
        if improving(row.get("training_curve") or []):
            yield _flag("still-improving", name, f"{name} was still getting stronger when its training ended")


def not_converged(rows: dict[str, AuditRow]) -> Iterator[AuditFlag]:
    """The last rung still made the attacker stronger, where no other attack is as strong anyway."""
    natural = rows["none"]["mean"] if "none" in rows else None
    for name, row in rows.items():
        curve = row.get("budget_curve", [])
        if len(curve) < 2 or natural is None:
            continue
        before, last = curve[-2:]
        fall = before["mean"] - last["mean"]
        stronger = any(surely_below(other, row) for other in rows.values())
        if not stronger and surely_below(last, before) and fall > STILL_FALLS * abs(natural - last["mean"]):
            text = f"{name} had {before['mean']:.1f} after {before['steps']:,} steps and {last['mean']:.1f} after "
            yield _flag("not-converged", name, text + f"{last['steps']:,}: more steps may find more harm")


def improving(curve: Sequence[float], part: float = 0.1) -> bool:
    """Whether the victim's returns still fall at the end: the last tenth below the tenth before by more than chance,
    and by more than a tenth of the whole descent.
    """
    n = int(len(curve) * part)
    if n < 3:
        return False
    first, before, last = (np.asarray(x, float) for x in (curve[:n], curve[-2 * n : -n], curve[-n:]))
    fall = before.mean() - last.mean()
    error = np.hypot(before.std(), last.std()) / np.sqrt(n - 1)
    return bool(fall > 2 * error and fall > part * abs(first.mean() - last.mean()))


def far_from_training(rows: dict[str, AuditRow], training_return: float | None) -> Iterator[AuditFlag]:
    """Another environment, or an observation that is not normalised as in training, shows here."""
    if training_return is None or "none" not in rows:
        return
    natural = rows["none"]["mean"]
    size = max(abs(training_return), 1e-9)
    if natural < training_return - 0.3 * size or natural > training_return + size:
        text = f"the natural return is {natural:.1f}, in training it was {training_return:.1f}"
        yield _flag("far-from-training", "none", text)


def _flag(flag: str, attack: str, text: str) -> AuditFlag:
    return {"flag": flag, "attack": attack, "text": text}


def distinct(flags: Iterable[AuditFlag]) -> list[AuditFlag]:
    """Flags of several radii, each once."""
    kept: dict[tuple[str, str, str], AuditFlag] = {}
    for flag in flags:
        kept.setdefault((flag["flag"], flag["attack"], flag["text"]), flag)
    return list(kept.values())
