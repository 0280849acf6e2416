"""ATLA (Zhang et al. 2021) and PA-ATLA: an agent and its adversary, trained in alternation."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from wocar.agent import Agent
from wocar.attacks.learned import make_actor
from wocar.envs.env_slice import EnvSlice
from wocar.mechanisms.objective import Vanilla
from wocar.networks.normaliser import as_is
from wocar.rollout import Rollout
from wocar.threat import Threat
from wocar.training.adversary_config import ATTACKS, AdversaryConfig, attack_meta
from wocar.training.adversary_env import AdversaryEnv, Screen, adversary_spec
from wocar.training.attacked_env import AttackedEnv
from wocar.training.on_policy import Algorithm, OnPolicy
from wocar.training.run_config import RunConfig
from wocar.training.trainer import Iteration
from wocar.types import EnvSpec, VectorEnv


class Alternating:
    """An iteration: the agent's rollout under the adversary and its update, then the adversary's against the new agent.

    Each has half of the environments, whose episodes continue across iterations. Both act by samples.
    """

    def __init__(self, config: RunConfig, algorithm: Any, spec: EnvSpec) -> None:
        assert config.adversary is not None
        self.config, self.kind = config, config.adversary.adversary_kind
        rival_config = adversary_run(config, config.adversary)
        self.actor = make_actor(self.kind)
        self.agent_half = _Attacked(config, algorithm, spec)
        rival: Algorithm = type(algorithm)(rival_config.algorithm, Vanilla())
        self.adversary_half = OnPolicy(rival_config, rival, adversary_spec(spec, self.actor), stream=1)
        self.ball = config.adversary.adversary_threat.ball_for(self.agent_half)

    def begin(self, env: VectorEnv, rng: np.random.Generator) -> None:
        agent, adversary, shows, acts = rng.spawn(4)
        opening, n, victim = env.reset(), env.n // 2, self.agent()
        self.attacked = AttackedEnv(EnvSlice(env, opening, 0, n), Screen(self.actor, self.ball, victim), shows)
        self.attacked.set_players(victim, self.adversary_half.agent())
        self.agent_half.begin(self.attacked, agent)
        self.attacker = AdversaryEnv(victim, EnvSlice(env, opening, n, n), self.actor, self.ball, acts)
        self.adversary_half.begin(self.attacker, adversary)

    def iterate(self, iteration: int) -> Iteration:
        self.attacked.set_players(self.agent(), self.adversary_half.agent())
        ours = self.agent_half.iterate(iteration)
        self.attacker.set_victim(self.agent())
        theirs = self.adversary_half.iterate(iteration)
        info: dict[str, Any] = {**ours.info, **{f"adversary_{name}": value for name, value in theirs.info.items()}}
        info["agent_steps"] = (iteration + 1) * self.config.rollout_steps
        if theirs.returns:
            info["adversary_return"] = np.mean(theirs.returns)
        watched = {**ours.watched, "adversary": theirs.watched}
        return Iteration(ours.returns, ours.lengths, info, watched)

    def agent(self) -> Agent:
        return self.agent_half.agent()

    def adversary(self) -> Agent:
        """As an attack that can be loaded."""
        adversary, rival = self.adversary_half.agent(), self.adversary_half.config
        assert rival.attack is not None
        adversary.meta |= {"method": self.kind, "seed": rival.seed, **attack_meta(self.kind, rival.attack)}
        return adversary

    def parts(self) -> dict[str, Any]:
        theirs = {f"adversary {name}": part for name, part in self.adversary_half.parts().items()}
        return {**self.agent_half.parts(), **theirs}

    def state(self) -> dict[str, Any]:
        return {"agent": self.agent_half.state(), "adversary": self.adversary_half.state()}

    def data(self) -> dict[str, Any]:
        theirs = {f"adversary_{name}": number for name, number in self.adversary_half.data().items()}
        return {**self.agent_half.data(), **theirs}

    def restore(self, agent: Agent, state: dict[str, Any], data: dict[str, Any]) -> None:
        self.agent_half.restore(agent, state["agent"], data)
        theirs = {name.removeprefix("adversary_"): number for name, number in data.items() if "adversary_" in name}
        self.adversary_half.restore(self.adversary_half.agent(), state["adversary"], theirs)

    def finish(self) -> None:
        self.adversary().save(self.config.out / "adversary")


class _Attacked(OnPolicy):
    """The agent sees what its environment shows, which is normalised; its normaliser learns from what was there."""

    def begin(self, env: Any, rng: np.random.Generator) -> None:
        super().begin(env, rng)
        self.env: AttackedEnv = env

    def collect(self, steps: int) -> Rollout:
        rollout = self.collector.collect(Agent(self.spec, self.normaliser, self.learner.policy), steps, as_is)
        return rollout._replace(seen=self.env.take_seen())


def adversary_run(config: RunConfig, adversary: AdversaryConfig) -> RunConfig:
    """The adversary's half as a training of its own: its learning rates, as many iterations."""
    names = ("policy_lr", "value_lr", "ent_coef", "clip_range")
    own: dict[str, Any] = {n: getattr(adversary, f"adversary_{n}") for n in names if hasattr(config.algorithm, n)}
    own["normalise_obs"] = False
    kind = adversary.adversary_kind
    return dataclasses.replace(
        config,
        method=kind,
        steps=config.iterations * config.rollout_steps,
        algorithm=dataclasses.replace(config.algorithm, **own),
        robust=None,
        attack=ATTACKS[kind](Path("agent"), Threat(**vars(adversary.adversary_threat))),
        adversary=None,
    )
