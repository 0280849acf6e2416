"""SAC against Stable-Baselines3 itself: same weights, same batch, same noise, its own train()."""

from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.mechanisms.sac_objective import Critics, SACBatch, SACObjective
from wocar.networks import ActionCritic, SquashedGaussianPolicy
from wocar.networks.layers import linear
from wocar.training import sac

sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.oracle

OBS, ACTIONS, BATCH, STEPS = 5, 3, 32, 3
LOW, HIGH = np.array([-2.0, -1, 0], np.float32), np.array([2.0, 3, 1], np.float32)


class Blank(gymnasium.Env):
    """Spaces without a world: the oracle trains on our batch."""

    observation_space = gymnasium.spaces.Box(-9, 9, (OBS,))
    action_space = gymnasium.spaces.Box(LOW, HIGH)


@pytest.fixture(scope="module")
def oracle() -> Any:
    model = sb3.SAC(
        "MlpPolicy", Blank(), buffer_size=BATCH, batch_size=BATCH, learning_rate=1e-3, seed=0, device="cpu",
        policy_kwargs={"net_arch": [16, 16]}, tau=0.1, gamma=0.9,
    )  # fmt: skip
    model.set_logger(sb3.common.logger.Logger(None, []))
    return model


def array(parameter: Any) -> np.ndarray:
    return parameter.detach().clone().numpy()  # JAX would share the memory that the oracle trains


def network(*layers: Any) -> eqx.nn.Sequential:
    relu, parts = eqx.nn.Lambda(jax.nn.relu), []
    for layer in layers:
        parts += [linear(array(layer.weight), array(layer.bias)), relu]
    return eqx.nn.Sequential(parts[:-1])


def actor(model: Any) -> SquashedGaussianPolicy:
    own = model.actor
    *hidden, _ = (*own.latent_pi[::2], None)
    heads = [
        np.concatenate([array(getattr(head, part)) for head in (own.mu, own.log_std)]) for part in ("weight", "bias")
    ]
    body = eqx.nn.Sequential([*network(*hidden).layers, eqx.nn.Lambda(jax.nn.relu), linear(*heads)])
    return SquashedGaussianPolicy(body, jnp.asarray(LOW), jnp.asarray(HIGH))


def critics(own: Any) -> Critics:
    return Critics(*(ActionCritic(network(q[0], q[2], q[4])) for q in own.q_networks))


def learner_of(model: Any, algorithm: sac.SAC) -> sac.SACLearner:
    policy, ours, target = actor(model), critics(model.critic), critics(model.critic_target)
    log_alpha = jnp.asarray(array(model.log_ent_coef))[0]
    opts = [algorithm._adam.init(x) for x in (policy, ours, log_alpha)]
    return sac.SACLearner(policy, ours, target, log_alpha, *opts, ())


def test_three_updates_equal_stable_baselines3(oracle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    obs, next_obs = rng.standard_normal((2, BATCH, OBS)).astype(np.float32)
    unit, rewards = (
        rng.uniform(-1, 1, (BATCH, ACTIONS)).astype(np.float32),
        rng.standard_normal(BATCH).astype(np.float32),
    )
    done = rng.uniform(size=BATCH) < 0.3
    noises = [rng.standard_normal((2, BATCH, ACTIONS)).astype(np.float32) for _ in range(STEPS)]

    config = sac.SACConfig(batch_size=BATCH, learning_rate=1e-3, tau=0.1, gamma=0.9, hidden=(16, 16))
    algorithm = sac.SAC(config, SACObjective())
    learner = learner_of(oracle, algorithm)
    batch = SACBatch(obs, unit, rewards, next_obs, 0.9 * (1.0 - done.astype(np.float32)), np.ones(BATCH, np.float32))

    drawn = iter(noise for pair in noises for noise in pair)
    monkeypatch.setattr(
        torch.distributions.Normal, "rsample", lambda self: self.loc + self.scale * torch.as_tensor(next(drawn))
    )
    tensors = [torch.as_tensor(x) for x in (obs, unit, next_obs, done[:, None].astype(np.float32), rewards[:, None])]
    sample = sb3.common.type_aliases.ReplayBufferSamples(*tensors)
    monkeypatch.setattr(oracle.replay_buffer, "sample", lambda *a, **k: sample)
    oracle.train(gradient_steps=STEPS, batch_size=BATCH)

    for noise in noises:
        given = iter(noise[::-1])  # ours evaluates before it improves
        monkeypatch.setattr(jax.random, "normal", lambda key, shape, given=given: jnp.asarray(next(given)))
        learner, _, _ = algorithm.update(learner, batch, jax.random.key(0), jnp.float32(0))

    theirs = (
        actor(oracle),
        critics(oracle.critic),
        critics(oracle.critic_target),
        jnp.asarray(array(oracle.log_ent_coef))[0],
    )
    ours = learner.policy, learner.critics, learner.target, learner.log_alpha
    for mine, other in zip(
        jax.tree.leaves(eqx.filter(ours, eqx.is_array)), jax.tree.leaves(eqx.filter(theirs, eqx.is_array)), strict=True
    ):
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-6)


def test_actions_and_their_log_probability_equal_stable_baselines3(
    oracle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    obs, noise = (
        rng.standard_normal((BATCH, OBS)).astype(np.float32),
        rng.standard_normal((BATCH, ACTIONS)).astype(np.float32),
    )
    monkeypatch.setattr(
        torch.distributions.Normal, "rsample", lambda self: self.loc + self.scale * torch.as_tensor(noise)
    )
    with torch.no_grad():
        action, log_prob = oracle.actor.action_log_prob(torch.as_tensor(obs))
    policy = actor(oracle)
    ours, own_log_prob = policy.sample(obs, noise)
    np.testing.assert_allclose(ours, action.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(own_log_prob, log_prob.numpy(), rtol=1e-3, atol=1e-4)
    wanted, _ = oracle.predict(obs, deterministic=True)
    np.testing.assert_allclose(policy.mode(obs), wanted, rtol=1e-4, atol=1e-5)
