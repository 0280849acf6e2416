"""CAR-PPO (arXiv 2502.16734): the policy loss at adversarial observations, weighed towards the worst samples."""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from wocar.bounds import ascend_in_ball
from wocar.config_base import COUNT, NOT_NEGATIVE, POSITIVE, AlgorithmConfig
from wocar.mechanisms.growing_ball import GrowingBall
from wocar.mechanisms.objective import InBall, Info, PolicyLoss
from wocar.types import Array, Batch, EnvSpec, Policy


@dataclass(frozen=True)
class CarConfig(GrowingBall, kind="car"):
    car_form: Literal["beside", "alone"] = "beside"
    """The adversarial loss is added to the clean one (as in the published settings), or replaces it."""
    car_weight: float = 0.1
    """Weight of the adversarial loss beside the clean one."""
    car_temperature: float = 100.0
    """Of the softmax that weighs samples by their loss: small follows the worst of a minibatch, large their mean."""
    car_solver: Literal["sgld", "pgd"] = "sgld"
    """Search for adversarial observations with Langevin noise, or without it from random starts."""
    car_steps: int = 10
    """Steps of the search for adversarial observations."""

    ranges = COUNT.of("car_steps") | POSITIVE.of("car_temperature") | NOT_NEGATIVE.of("car_weight")

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> "Car":
        return Car(self, spec.limits)


@dataclass(frozen=True)
class Car(InBall[Batch, jax.Array, PolicyLoss, None]):
    """One door: L + c L_car, or L_car alone."""

    config: CarConfig

    def loss(
        self, base: PolicyLoss, policy: Policy, batch: Batch, notes: None, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        cfg = self.config
        if cfg.car_form == "beside" and cfg.car_weight == 0:
            return base.value, base.info

        def losses(obs: Array) -> jax.Array:
            return base.at(policy.log_prob(obs, batch.actions), base.advantages)

        adversarial = losses(self._search(losses, batch.obs, key, progress))
        car = softmax_weighted(adversarial, cfg.car_temperature)
        info = {**base.info, "car_loss": car, "adversarial_loss": adversarial.mean()}
        return car if cfg.car_form == "alone" else base.value + cfg.car_weight * car, info

    def _search(self, losses: Any, obs: Array, key: jax.Array, progress: jax.Array) -> Array:
        """The perturbed observations of the largest loss; ascent on the mean, as released."""
        ball, steps = self.ball(progress), self.config.car_steps
        start_key, noise_key = jax.random.split(key)
        noisy = self.config.car_solver == "sgld"
        start = ball.scaled(1 / steps).sample_extreme(start_key, obs) if noisy else ball.sample(start_key, obs)
        return ascend_in_ball(
            lambda x: losses(x) / len(obs),
            ball,
            obs,
            start,
            steps=steps,
            key=noise_key if noisy else None,
            temperature=1e-5,
        )


def softmax_weighted(losses: Array, temperature: float) -> jax.Array:
    """Σ_i p_i l_i with p = softmax(l / λ), which is data."""
    weights = jax.lax.stop_gradient(jax.nn.softmax(losses / temperature))
    return jnp.sum(weights * losses)
