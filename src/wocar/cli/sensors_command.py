"""wocar sensors AGENT [--env ID] [--eps X] [--out FILE]"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from wocar.api import default_threat
from wocar.cli.option_types import Maybe
from wocar.cli.options import parse, radii, say
from wocar.evaluation.sensors import image_template, measure_sensors, template
from wocar.files import write_atomic
from wocar.loading import load
from wocar.threat import asked_threats


@dataclass(frozen=True)
class SensorsOptions:
    agent: Annotated[Path, tyro.conf.Positional]
    """A run folder, an agent folder, or a file from elsewhere."""
    env: Maybe[str] = None
    """The agent's environment, where its file does not tell."""
    eps: Maybe[str] = None
    """Radius in units of the normalised observation from which the radii of the file follow; by default the usual."""
    steps: int = 4000
    """Steps of the agent in which its sensors are measured."""
    normaliser: Maybe[Path] = None
    """For a Stable-Baselines3 zip: the pickle of its VecNormalize."""
    out: Maybe[Path] = None
    """Write the file here; by default it is printed."""


def main(argv: list[str]) -> int:
    about = "A file of what an attacker may do to each sensor, to be edited; audit and harden read it (--sensors)."
    options: SensorsOptions = parse(SensorsOptions, argv, "sensors", about)
    agent = load(options.agent, options.env, options.normaliser)
    threat = asked_threats(default_threat(agent), radii(options.eps))[0]
    if len(agent.spec.obs_shape) == 1:
        text = template(agent.spec.id, measure_sensors(agent, threat, options.steps))
    else:
        text = image_template(agent.spec.id)
    if options.out is None:
        print(text, end="")
    else:
        write_atomic(options.out, text.encode())
        say(f"sensors of {agent.spec.id} in {options.out}; edit the radii, then wocar audit --sensors {options.out}")
    return 0
