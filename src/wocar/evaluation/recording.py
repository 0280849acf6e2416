"""Recording of an episode: each step with its frame, the true and the shown observation."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wocar.agent import Agent
from wocar.attacks import Perturbation
from wocar.envs.render import RenderedEnv
from wocar.evaluation.attacked_observation import raw
from wocar.threat import Threat


class Moment(NamedTuple):
    """`frame` is None where the observation itself is the picture."""

    step: int
    frame: np.ndarray | None
    z: np.ndarray
    shown: np.ndarray
    """z~, inside the ball around z."""
    offset: np.ndarray
    """z~ - z in units of the radius."""
    total: float
    """Return until here."""


def episode(
    agent: Agent, rendered: RenderedEnv, attack: Any, threat: Threat, seed: int, steps: int
) -> Iterator[Moment]:
    """The first steps of an episode of the deterministic agent, its last moment included."""
    env, total = rendered.env, 0.0
    ball = threat.ball_for(agent)
    perturb = Perturbation(attack, ball, seed) if attack is not None else None
    memory, obs = agent.start(1), env.reset()
    for step in range(steps + 1):
        z = agent.normaliser(obs)
        shown = perturb(agent.held(memory), z) if perturb else z
        seen = raw(agent.normaliser, obs[0], z[0], shown[0])
        offset = np.asarray(ball.offset(z, shown))[0]
        yield Moment(step, rendered.frame(seen), z[0], shown[0], offset, total)
        action, memory = agent.step(shown, memory)
        after = env.step(action)
        if after.is_reset[0]:
            return
        total += float(after.rewards[0])
        obs = after.obs
