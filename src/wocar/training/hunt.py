"""Hunts in training: searches for what breaks the policy now.

The policy that kept most under its hunt is the one saved, and SAC's next episodes meet what was found.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wocar.agent import Agent
from wocar.attacks.base import Perturbation
from wocar.attacks.director_search import evolve_directors, returns_under
from wocar.attacks.own_critics import own_critic, own_q
from wocar.attacks.robust_sarsa import RobustSarsa
from wocar.episodes import run_episodes
from wocar.mechanisms.directors import Directors, no_directors
from wocar.threat import Threat
from wocar.training.create_networks import copied, vector_size
from wocar.training.run_config import RunConfig
from wocar.types import UserError

GENERATIONS, POPULATION, FINAL_EPISODES = 4, 32, 4
"""Of a hunt's evolution of directors."""
LONG_GENERATIONS, LONG_POPULATION = 8, 64
"""Of its second evolution, as long as that of the suites."""
OWN_EPISODES = 8
"""Episodes under the attack of each of the policy's own critics."""
POOL, FRESH, AGAIN = 24, 4, 6
"""Directors that are remembered; those that a hunt adds; episodes of the best agent under each of those."""
SEED = 7_000_000
"""Episodes of hunts are none of those of audits."""
AgentOf = Callable[[Any], Agent]
"""Makes an agent of the arrays that its trainer gave."""


class Kept(NamedTuple):
    """What hunts leave behind, as a checkpoint holds it."""

    pool: Directors
    """The first `Hunter.known` rows: the latest first."""
    best: Any
    """The arrays of the agent that kept most, as its trainer gave them."""


def make_hunter(config: RunConfig, arrays: Any, agent_of: AgentOf) -> "Hunter | None":
    """For agents made of such arrays; None where nothing is hunted."""
    if config.robust is None or config.threat is None or config.robust.hunt_begin >= 1:
        return None
    return Hunter(config, config.threat, arrays, agent_of, config.robust.hunt_long)


def is_due(config: RunConfig, iteration: int) -> bool:
    """Whether a hunt follows this iteration: at each checkpoint, after the share of training where hunts begin."""
    ended = iteration + 1
    at_end = ended % config.segment == 0 or ended >= config.iterations
    return config.robust is not None and at_end and ended >= config.robust.hunt_begin * config.iterations


class Hunter:
    def __init__(self, config: RunConfig, threat: Threat, arrays: Any, agent_of: AgentOf, long: bool = False) -> None:
        """`long`: what would be kept is searched a second time, longer."""
        self.threat, self.seed, self.threads, self.agent_of = threat, config.seed, config.threads, agent_of
        self.long = long
        spec = agent_of(arrays).spec
        if len(spec.obs_shape) != 1:
            raise UserError(f"--hunt-begin is not for observations of shape {spec.obs_shape}: leave it at 1")
        self.kept = Kept(no_directors(spec.actions.size, vector_size(spec), POOL), copied(arrays))
        self.known = self.hunts = self.steps = 0
        self.best = 0.0

    @property
    def directors(self) -> Directors:
        return self.kept.pool.of(np.arange(self.known))

    def hunt(self, arrays: Any) -> dict[str, Any]:
        """Search what breaks the agent of these arrays; keep them where the best so far keeps less, also under that."""
        seed = SEED + 1_000 * self.seed + 20 * self.hunts
        found, worst, steps = self._search(self.agent_of(arrays), seed)
        fresh = found.of(np.arange(FRESH))
        if self.hunts:  # what breaks this agent may break the best one too
            again, more = returns_under(
                self.agent_of(self.kept.best), fresh, self.threat, seed + 19, AGAIN, self.threads
            )
            self.best, steps = min(self.best, float(again.min())), steps + more
        self.steps += steps
        first = fresh.unit
        pool = Directors(*(x[:POOL].astype(np.float32) for x in first.joined(self.kept.pool)))
        self.known = min(self.known + FRESH, POOL)
        if not self.hunts or worst > self.best:
            self.best, self.kept = worst, Kept(pool, copied(arrays))
        else:
            self.kept = self.kept._replace(pool=pool)
        self.hunts += 1
        return {"hunt_worst": worst, "hunt_best": self.best, "hunt_steps": float(self.steps)}

    def _search(self, agent: Agent, seed: int) -> tuple[Directors, float, int]:
        """Directors, the most harmful first, the least return under them and the agent's own critics, and all steps."""
        found = evolve_directors(
            agent, self.threat, seed, GENERATIONS, POPULATION, self.directors, FINAL_EPISODES, self.threads
        )
        own, steps = self._under_own_critics(agent, seed)
        worst, steps = min(float(found.returns[0]), own), steps + found.steps
        if self.long and (not self.hunts or worst > self.best):
            known, how = found.directors.joined(self.directors), (LONG_GENERATIONS, LONG_POPULATION)
            found = evolve_directors(agent, self.threat, seed + 6, *how, known, threads=self.threads)
            worst, steps = min(worst, float(found.returns[0])), steps + found.steps
        return found.directors, worst, steps

    def _under_own_critics(self, agent: Agent, seed: int) -> tuple[float, int]:
        """Least mean return under the attacks of the agent's own critics, and their steps."""
        returns, steps = [np.inf], 0
        for critic in (own_q(agent), own_critic(agent, "worst")):
            if critic is not None:
                perturb: Any = Perturbation(RobustSarsa(critic), self.threat.ball_for(agent), seed)
                done = run_episodes(agent, OWN_EPISODES, seed, threads=self.threads, perturb=perturb)
                returns.append(float(done.returns.mean()))
                steps += int(done.lengths.sum())
        return min(returns), steps

    def data(self) -> dict[str, Any]:
        return {"hunts": self.hunts, "hunt_steps": self.steps, "hunt_best": self.best, "hunt_known": self.known}

    def restore(self, kept: Kept, data: dict[str, Any]) -> None:
        self.kept, self.hunts, self.steps = kept, data["hunts"], data["hunt_steps"]
        self.best, self.known = data["hunt_best"], data["hunt_known"]
