"""Attack context: the victim, what several attacks on it share, and who trains learned attackers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from wocar.agent import Agent
from wocar.attacks.director import LinearDirector
from wocar.attacks.director_search import POPULATION, search_directors
from wocar.attacks.guided import Examples
from wocar.attacks.learned import make_actor
from wocar.attacks.robust_sarsa import SarsaConfig, SarsaData, fit_robust_critic, sarsa_data
from wocar.evaluation.imitation_examples import directed_examples, examples
from wocar.evaluation.recurrent_critic import collect_memory, fit_recurrent_worst_value, memory_sarsa_data
from wocar.evaluation.surrogate import ASKED_STEPS, shadowed
from wocar.evaluation.worst_critic import FIT, SEARCHED, collect_rollout, fit_worst_value, return_scale
from wocar.networks import ActionCritic, DiscreteCritic
from wocar.threat import Threat
from wocar.types import Transitions

SEARCH_SEED = 900_000
"""Added to the seed of a search for directors."""
ROLLOUT_STEPS, WORST_STEPS = 61_440, 10_000
"""Steps of the unattacked victim from which its robust critics, its worst critics learn; these then explore."""


class Trained(NamedTuple):
    """An attack; of a learned one also the victim's mean return as its training went on."""

    attack: Any
    curve: list[float]
    predicted: float | None = None
    """The worst discounted return from the start, by a worst critic's estimate."""


class TrainAttacker(Protocol):
    """Trains `sa-rl` or `pa-ad` in a folder, or continues what the folder holds."""

    def __call__(
        self,
        kind: str,
        victim: Agent,
        threat: Threat,
        seed: int,
        out: Path,
        settings: Mapping[str, Any],
        lessons: Examples | None,
    ) -> Trained: ...


class AttackContext:
    """What attacks on one victim are made from; what several need is made once."""

    def __init__(
        self,
        agent: Agent,
        seed: int,
        train: TrainAttacker | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> None:
        self.agent, self.seed, self.train, self.given = agent, seed, train, given or {}
        self._rollouts: dict[int, tuple[Transitions, float]] = {}
        self._made: dict[Any, Any] = {}

    def rollout(self, steps: int) -> tuple[Transitions, float]:
        """The victim's own steps, and the standard deviation of their discounted sums of rewards."""
        if steps not in self._rollouts:
            rollout = collect_rollout(self.agent, steps, self.seed)
            self._rollouts[steps] = rollout, return_scale(rollout)
        return self._rollouts[steps]

    def robust_critic(self, radius: float = 0.05, reg: float = 0.3, lr: float = 3e-4, gamma: float = 0.9) -> Any:
        """A critic of the victim, smooth in a ball; it does not depend on eps. A near horizon tells actions apart."""
        asked = radius, reg, lr, gamma
        if asked not in self._made:
            spec, key = self.agent.spec, jax.random.key(self.seed)
            kind: Any = DiscreteCritic if spec.actions.discrete else ActionCritic
            data = self._sarsa_data()
            critic = kind.create(data.obs.shape[-1], spec.actions.size, key)
            ball, weight, rate, discount = (np.asarray(x, np.float32) for x in asked)  # arrays: compiled once
            config = SarsaConfig(lr=rate, gamma=discount)
            self._made[asked] = fit_robust_critic(critic, data, ball, weight, key, config)
        return self._made[asked]

    def _sarsa_data(self) -> SarsaData:
        if not self.agent.recurrent:
            return sarsa_data(*self.rollout(ROLLOUT_STEPS))
        if "memory" not in self._made:
            self._made["memory"] = memory_sarsa_data(collect_memory(self.agent, ROLLOUT_STEPS, self.seed))
        return self._made["memory"]

    def worst_critic(self, threat: Threat, explorations: int = 8, sweeps: int = 400, searched: bool = False) -> Any:
        """The worst critic of mechanism 1: unlike a robust one it knows that the attack continues.

        `searched`: it counts on actions that a search has caused, not on all that bounds allow; no victims with memory.
        """
        asked = "worst", threat, explorations, sweeps, searched
        if asked not in self._made and self.agent.recurrent:
            found, _ = fit_recurrent_worst_value(self.agent, threat, WORST_STEPS, sweeps, self.seed, explorations)
            self._made[asked] = found.target
        elif asked not in self._made:
            rollout, config = self.rollout(WORST_STEPS), SEARCHED if searched else FIT
            fitted = fit_worst_value(self.agent, threat, *rollout, sweeps, self.seed, config, explorations=explorations)
            self._made[asked] = fitted.target
        return self._made[asked]

    @property
    def worst_scale(self) -> float:
        """What the rewards of worst critics are divided by."""
        return self.rollout(WORST_STEPS)[1]

    def directors(
        self, threat: Threat, generations: int = 8, population: int = POPULATION
    ) -> tuple[LinearDirector, ...]:
        """Linear directors that hurt the victim, the most harmful first."""
        asked = "director", threat, generations, population
        if asked not in self._made:
            found = search_directors(self.agent, threat, self.seed + SEARCH_SEED, generations, population)
            self._made[asked] = found
        return self._made[asked]

    def shadow(self, threat: Threat, steps: int = ASKED_STEPS) -> "AttackContext":
        """That of the same victim, of which a surrogate is seen."""
        asked = "shadow", threat, steps
        if asked not in self._made:
            self._made[asked] = AttackContext(shadowed(self.agent, threat, self.seed, steps), self.seed)
        return self._made[asked]

    def examples(self, kind: str, threat: Threat, guide: int | str) -> Examples | None:
        """What lets a learned attacker start where a worst critic points, after so many explorations, or a searched
        director ("director"); None where that has no meaning.
        """
        flat = len(self.agent.spec.obs_shape) == 1
        if self.agent.spec.actions.discrete or self.agent.recurrent or not flat:
            return None
        asked = "examples", kind, threat, guide
        if asked not in self._made:
            actor = make_actor(kind)
            if isinstance(guide, str):
                found = directed_examples(self.agent, self.directors(threat)[0], threat, actor, self.seed)
            else:
                found = examples(self.agent, self.worst_critic(threat, guide), threat, actor, self.seed)
            self._made[asked] = found
        return self._made[asked]
