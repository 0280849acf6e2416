"""wocar harden AGENT --eps X --out DIR [--until-worst X] [--steps N] [--json FILE] [--resume]"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from wocar.bounds.ball import Norm
from wocar.cli.audit_display import AuditDisplay
from wocar.cli.imported import say_findings
from wocar.cli.option_types import Maybe
from wocar.cli.options import check_folder, parse, radii, say, words
from wocar.evaluation.audit_result import points_of, rows_of
from wocar.files import write_json
from wocar.hardening import Hardened, harden
from wocar.threat import Units
from wocar.types import UserError


@dataclass(frozen=True)
class HardenOptions:
    agent: Annotated[Path, tyro.conf.Positional]
    """A run folder, an agent folder, or a file from elsewhere (Stable-Baselines3 zip, published .model)."""
    out: Path
    """Folder of the run: the hardened agent, its audits, checkpoints."""
    eps: Maybe[str] = None
    """Radius of the ball around the observation, such as 0.1 or 1/255; by default that of the agent's training or of
    its task."""
    norm: Maybe[Norm] = None
    """By default that of the agent's training, else linf."""
    units: Maybe[Units] = None
    """What eps is measured in: observations after the normaliser, or raw ones."""
    radii: Maybe[tuple[float, ...]] = None
    """For each dimension of the observation a factor of eps; 0 where the attacker cannot move it."""
    sensors: Maybe[Path] = None
    """File of radii in the units of each sensor, as `wocar sensors` writes it."""
    until_worst: Maybe[float] = None
    """End training once an audit finds the worst mean return here or above."""
    keep_natural: float = 0.9
    """Share of the return without attack that must be kept, where possible."""
    steps: Maybe[int] = None
    """Environment steps at most; by default those of the method."""
    method: Maybe[str] = None
    """By default the one that fits the policy: wocar-ppo, wocar-a2c, wocar-dqn or wocar-sac."""
    suite: Maybe[str] = None
    """Attacks of the audits before and after; by default fast-v2."""
    attacks: Maybe[str] = None
    """Attacks of the audits by name, separated by commas, instead of a suite."""
    episodes: Maybe[int] = None
    """Episodes reported for each attack of the audits; by default 50."""
    check_attacks: Maybe[str] = None
    """Attacks of the quick checks during training, by name; the best agent is chosen by them."""
    seed: int = 0
    """Seed of the training."""
    env: Maybe[str] = None
    """The agent's environment, where its file does not tell."""
    normaliser: Maybe[Path] = None
    """For a Stable-Baselines3 zip: the pickle of its VecNormalize."""
    json: Maybe[Path] = None
    """Write both audits and what lies between them here."""
    resume: bool = False
    """Go on with the hardening in the folder."""
    set: tuple[str, ...] = ()
    """Other settings of the method, as NAME=VALUE; wocar train METHOD --help lists them."""


def main(argv: list[str]) -> int:
    about = "Robust fine-tuning of a trained agent, audited before and after."
    options: HardenOptions = parse(HardenOptions, argv, "harden", about)
    if options.suite and options.attacks:
        raise UserError("--suite and --attacks exclude each other")
    check_folder(options.json)
    say_findings(options.agent, options.env, options.normaliser)
    found = harden(
        options.agent,
        options.out,
        eps=_radius(options.eps),
        norm=options.norm,
        units=options.units,
        radii=options.radii,
        sensors=options.sensors,
        until_worst=options.until_worst,
        keep_natural=options.keep_natural,
        steps=options.steps,
        method=options.method,
        suite=options.suite,
        attacks=_with_natural(words(options.attacks)),
        episodes=options.episodes,
        check_attacks=words(options.check_attacks),
        seed=options.seed,
        env=options.env,
        normaliser=options.normaliser,
        resume=options.resume,
        watch=AuditDisplay(options.agent.name),
        say=say,
        **_settings(options.set),
    )
    if options.json:
        write_json(options.json, found.to_json())
    _show(found, options)
    return 0


def _radius(text: str | None) -> float | None:
    several = radii(text)
    if several is not None and len(several) != 1:
        raise UserError(f"--eps must be one number, not {text!r}")
    return several[0] if several else None


def _with_natural(attacks: list[str] | None) -> list[str] | None:
    """The attacks, and no attack: what robustness cost is said too."""
    return None if attacks is None else list(dict.fromkeys(["none", *attacks]))


def _settings(pairs: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UserError(f"--set takes NAME=VALUE, not {pair!r}")
        found[name.replace("-", "_")] = _value(text)
    return found


def _value(text: str) -> Any:
    """A number or a truth value where the text is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)


def _show(found: Hardened, options: HardenOptions) -> None:
    before, after = (dict(rows_of(points_of(result)[0])) for result in (found.before, found.after))
    print(f"{'attack':18} {'before':>9} {'after':>9}")
    for name in [*before, *(name for name in after if name not in before)]:
        cells = (f"{rows[name]['mean']:9.1f}" if name in rows else f"{'-':>9}" for rows in (before, after))
        print(f"{name:18} {' '.join(cells)}")
    print(f"{'worst':18} {found.worst[0]:9.1f} {found.worst[1]:9.1f}")
    lost = found.natural[0] - found.natural[1]
    share = f" ({100 * lost / abs(found.natural[0]):.1f} %)" if found.natural[0] else ""
    say(f"cost in return without attack: {lost:.1f}{share}; {found.steps:,} steps, {found.minutes['training']} minutes")
    if options.until_worst is not None and found.worst[1] < options.until_worst:
        say(f"--until-worst {options.until_worst:g} was not met: the worst mean return is {found.worst[1]:.1f}")
    say(f"agent in {options.out / 'agent'}")
