"""wocar record AGENT [--attack NAME] [--eps X] [--seed N] [--steps N] --out CLIP.gif"""

import shlex
from dataclasses import dataclass
from os.path import isdir
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from wocar.agent import Agent
from wocar.api import default_threat
from wocar.attacks.learned import learned_attack
from wocar.bounds.ball import Norm
from wocar.cli.option_types import Maybe
from wocar.cli.options import parse, say
from wocar.envs.render import RenderedEnv, make_rendered
from wocar.evaluation.attack_registry import attack_by_name
from wocar.evaluation.recording import Moment, episode
from wocar.evaluation.worst_case import importance
from wocar.loading import load
from wocar.report.clips import FPS, bars, check_target, picture_of, pixels, side_by_side, write_clip, write_pair
from wocar.report.groups import method_label
from wocar.report.labels import attack_label, eps_text, number
from wocar.threat import Threat, Units, asked_threats
from wocar.types import UserError


@dataclass(frozen=True)
class RecordOptions:
    agent: Annotated[Path, tyro.conf.Positional]
    """A run folder, an agent folder, or a file from elsewhere (Stable-Baselines3 zip, published .model)."""
    out: Path = Path("clip.gif")
    """A name that ends in .gif, or in .mp4 where ffmpeg is installed."""
    attack: str = "none"
    """An attack by name (`wocar audit`), or the folder of a trained attacker."""
    eps: Maybe[float] = None
    """Radius of the ball; by default that of the agent's training or of the paper."""
    norm: Maybe[Norm] = None
    """By default that of the agent's training, else linf."""
    units: Maybe[Units] = None
    """What eps is measured in: observations after the normaliser, or raw ones; by default as in training."""
    radii: Maybe[tuple[float, ...]] = None
    """For each dimension of the observation a factor of eps; 0 where the attacker cannot move it."""
    seed: int = 1234
    """Seed of the episode."""
    steps: int = 500
    """Of the episode, at most."""
    env: Maybe[str] = None
    """The environment's id, where the file does not hold it."""
    importance: bool = False
    """In the place of the episode a picture (.png) of its most and its least important states, by w(s)."""


def main(argv: list[str]) -> int:
    about = "An episode of an agent as GIF or MP4, the perturbation drawn beside it."
    options: RecordOptions = parse(RecordOptions, argv, "record", about)
    check_target(options.out, (".png",) if options.importance else (".gif", ".mp4"))
    if options.steps <= 0:
        raise UserError(f"--steps must be positive, not {options.steps}")
    agent = load(options.agent, options.env)
    (threat,) = asked_threats(
        default_threat(agent), options.eps, norm=options.norm, units=options.units, radii=options.radii
    )
    rendered = make_rendered(agent.spec.id, options.seed)
    if options.importance:
        return _states(options, argv, agent, rendered, threat)
    attack = _attack(options, agent, threat)
    threat = threat if attack is not None else threat.at(0.0)
    every = max(1, round(rendered.fps / FPS))
    moments = episode(agent, rendered, attack, threat, options.seed, options.steps)
    last = next(moments)
    frames = [_frame(last, agent, _name(options), threat)]
    for last in moments:
        if last.step % every == 0:
            frames.append(_frame(last, agent, _name(options), threat))
    if last.step % every:
        frames.append(_frame(last, agent, _name(options), threat))
    description = {
        "env": agent.spec.id,
        "method": method_label(str(agent.meta.get("method", options.agent.stem))),
        "attack": _name(options),
        "eps": threat.eps,
        "seed": options.seed,
        "steps": last.step,
        "return": last.total,
        "command": shlex.join(["wocar", "record", *argv]),
    }
    write_clip(options.out, frames, description, min(rendered.fps, FPS))
    say(f"{options.out}: {last.step} steps, return {last.total:.1f}, {options.out.stat().st_size / 1e6:.1f} MB")
    return 0


def _states(options: RecordOptions, argv: list[str], agent: Agent, rendered: RenderedEnv, threat: Threat) -> int:
    """Both ends of w(s) among the states of one episode without attack."""
    moments = list(episode(agent, rendered, None, threat.at(0.0), options.seed, options.steps))
    weights = importance(agent, threat, np.stack([moment.z for moment in moments]))
    high, low = int(np.argmax(weights)), int(np.argmin(weights))
    pictures = [picture_of(moments[i].frame, moments[i].z) for i in (high, low)]
    captions = [f"{name} w(s), {weights[i]:.3g}, at step {i}" for name, i in (("highest", high), ("lowest", low))]
    description = {
        "env": agent.spec.id,
        "method": method_label(str(agent.meta.get("method", options.agent.stem))),
        "picture": f"states of the {captions[0]} (left), and of the {captions[1]} (right)",
        "command": shlex.join(["wocar", "record", *argv]),
    }
    write_pair(options.out, pictures, captions, description)
    say(f"{options.out}: {captions[0]}; {captions[1]}")
    return 0


def _attack(options: RecordOptions, agent: Agent, threat: Threat) -> Any:
    folder = Path(options.attack)
    if isdir(folder):
        return learned_attack(load(folder), agent.spec)
    return attack_by_name(options.attack, agent, threat, options.seed)


def _name(options: RecordOptions) -> str:
    return Path(options.attack).name


def _frame(moment: Moment, agent: Agent, attack: str, threat: Threat) -> np.ndarray:
    method = method_label(str(agent.meta.get("method", "agent")))
    under = "no attack" if threat.eps == 0 else f"{attack_label(attack)}, eps {eps_text(threat.eps)}"
    lines = [f"{method} on {agent.spec.id}", under, f"step {moment.step}, return {number(moment.total)}"]
    if moment.frame is None:
        radius = float(threat.ball_for(agent).eps)
        return pixels(_picture(moment.z), _picture(moment.shown), radius, [", ".join(lines)])
    return side_by_side(moment.frame, bars(moment.offset.ravel(), moment.frame.shape[0], lines))


def _picture(z: np.ndarray) -> np.ndarray:
    """The newest frame of a stack (frames, height, width), brightness from 0 to 1."""
    return np.asarray(z[-1] if z.shape[0] <= z.shape[-1] else z[..., -1], np.float32)
