"""Training of an adversary against a fixed victim, with the loop and the PPO or SAC that train agents."""

import dataclasses
from pathlib import Path
from typing import Any

import jax

from wocar.agent import Agent
from wocar.attacks.guided import Examples
from wocar.attacks.imitation import imitate
from wocar.attacks.learned import LearnedAttack, learned_attack, make_actor
from wocar.threat import Threat
from wocar.training.adversary_config import ATTACKS, AttackConfig
from wocar.training.adversary_env import AdversaryEnv, adversary_spec
from wocar.training.learner import Learner
from wocar.training.loop import make_envs, train
from wocar.training.ppo import PPO, PPOConfig
from wocar.training.run_config import RunConfig
from wocar.training.sac import SACConfig
from wocar.types import EnvSpec, UserError, VectorEnv


def train_adversary(config: RunConfig, victim: Agent, lessons: Examples | None = None) -> Agent:
    """Run or resume the training that `config` and its `attack` describe; returns the adversary as an agent."""
    attack, base = config.attack, config.algorithm
    if attack is None or not isinstance(base, PPOConfig | SACConfig):
        raise ValueError(f"{config.method} is not the configuration of an adversary trained by PPO or SAC")
    config = dataclasses.replace(
        config, attack=dataclasses.replace(attack, victim_digest=victim.digest(critics=False)[:16])
    )
    actor = make_actor(attack.kind, **_actor_settings(attack))
    if getattr(attack, "actor", None) == "target" and not victim.spec.actions.discrete:
        raise UserError(f"--actor target needs discrete actions; those of {victim.spec.id} are continuous")
    ball = attack.threat.ball_for(victim)

    def make(config: RunConfig, segment: int) -> VectorEnv:
        return AdversaryEnv(victim, make_envs(config, segment), actor, ball)

    algorithm: Any = base.build(None)
    if lessons and isinstance(algorithm, PPO):
        algorithm = _Taught(algorithm, lessons)
    return train(config, algorithm, adversary_spec(victim.spec, actor), make)


def train_attacker(
    kind: str,
    victim: Agent,
    threat: Threat,
    out: Path,
    steps: int = 1_000_000,
    seed: int = 0,
    settings: dict[str, Any] | None = None,
    resume: bool = True,
    lessons: Examples | None = None,
) -> LearnedAttack:
    """Train "sa-rl" or "pa-ad" against the victim in the folder `out`, or resume there; returns the attack.

    `settings` are fields of PPOConfig, and of the attack's configuration (actor, pgd_steps); with `trainer` "sac" of
    SACConfig.
    """
    settings = dict(settings or {})
    trainer: Any = {"ppo": PPOConfig, "sac": SACConfig}[settings.pop("trainer", "ppo")]
    names = {field.name for field in dataclasses.fields(ATTACKS[kind])}
    own = {name: settings.pop(name) for name in list(settings) if name in names}
    config = RunConfig(
        method=kind,
        env=victim.spec.id,
        seed=seed,
        steps=steps,
        out=out,
        resume=resume,
        algorithm=trainer(**{"normalise_obs": False, **settings}),
        attack=ATTACKS[kind](Path(victim.meta.get("method", "agent")), threat, **own),
    )
    config.check()
    return learned_attack(train_adversary(config, victim, lessons), victim.spec)


class _Taught:
    """An algorithm whose policy first imitates examples."""

    def __init__(self, algorithm: PPO, lessons: Examples) -> None:
        self._algorithm, self._lessons = algorithm, lessons
        self.update = algorithm.update

    def init(self, spec: EnvSpec, key: jax.Array) -> Learner:
        learner = self._algorithm.init(spec, key)
        return learner._replace(policy=imitate(learner.policy, *self._lessons))


def _actor_settings(attack: AttackConfig) -> dict[str, Any]:
    return {name: getattr(attack, name) for name in ("actor", "pgd_steps") if hasattr(attack, name)}
