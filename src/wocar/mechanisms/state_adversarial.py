"""Mechanism 3 as an objective of its own: the state-adversarial regulariser of SA-PPO and SA-A2C."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from wocar.bounds import Ball, ascend_in_ball, network_bounds
from wocar.mechanisms.objective import Info, standardise
from wocar.mechanisms.policy_config import RobustConfig
from wocar.mechanisms.state_reg import policy_distance, policy_distance_bound, state_regularisation
from wocar.types import Array, Batch, Limits


class StateAdversarial(NamedTuple):
    """Mechanism 3 alone, every state of equal importance: SA-PPO, SA-A2C."""

    config: RobustConfig
    limits: Limits = None

    @property
    def critics(self) -> int:
        return 0

    def init(self, critic: Any, obs_shape: tuple[int, ...]) -> Any:
        return ()

    def ball(self, progress: jax.Array) -> Ball:
        return self.config.ball(progress, self.limits)

    def fit(
        self, extra: Any, policy: Any, batch: Batch, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Batch, Info]:
        notes = dict(batch.notes)
        if self.regularises and self.config.reg_solver == "sgld" and self.config.reg_search == "iteration":
            notes["perturbed"] = self._search(policy, batch.obs, key, progress)
        return extra, batch._replace(notes=notes), {"eps": self.ball(progress).eps}

    def advantages(self, batch: Batch, progress: jax.Array) -> jax.Array:
        return standardise(batch.advantage)

    def penalty(self, policy: Any, batch: Batch, key: jax.Array, progress: jax.Array) -> jax.Array:
        cfg = self.config
        if not self.regularises:
            return jnp.zeros(())
        head = policy.head(batch.obs)
        if cfg.reg_solver == "convex":
            distance = self._distance_bound(policy, head, batch.obs, progress)
        else:
            perturbed = batch.notes.get("perturbed")
            if perturbed is None:
                perturbed = self._search(policy, batch.obs, key, progress)
            distance = policy_distance(
                policy, jax.lax.stop_gradient(head), policy.head(perturbed), detach_std=not cfg.reg_std
            )
        importance = batch.notes.get("importance", jnp.ones(()))
        return cfg.kappa_reg * state_regularisation(distance, importance)

    @property
    def regularises(self) -> bool:
        return self.config.reg and self.config.kappa_reg > 0 and self.config.threat.on == "observation"

    def _search(self, policy: Any, obs: Array, key: jax.Array, progress: jax.Array) -> jax.Array:
        """The perturbed observations where the policy differs most, by Langevin ascent."""
        ball, steps = self.ball(progress), self.config.reg_steps
        head = policy.head(obs)
        start_key, search_key = jax.random.split(key)
        start = ball.scaled(1 / steps).sample_extreme(start_key, obs)
        return ascend_in_ball(
            lambda x: policy_distance(policy, head, policy.head(x)),
            ball,
            obs,
            start,
            steps=steps,
            key=search_key,
            temperature=1e-5,
        )

    def _distance_bound(self, policy: Any, head: Array, obs: Array, progress: jax.Array) -> jax.Array:
        """Over linear bounds at first, over intervals at the end: the mix follows eps."""
        ball = self.ball(progress)
        mix = ball.eps / max(self.config.threat.eps, 1e-12)
        loose = network_bounds(policy.network, ball, obs, "ibp")
        tight = network_bounds(policy.network, ball, obs, "crown-ibp")
        lower, upper = (mix * a + (1 - mix) * b for a, b in zip(loose, tight, strict=True))
        return policy_distance_bound(policy, head, lower, upper)
