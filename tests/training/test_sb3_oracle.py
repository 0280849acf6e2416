"""PPO, A2C and GAE against Stable-Baselines3 itself: same weights, same batch, its own train()."""

from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.mechanisms.objective import Vanilla, standardise
from wocar.networks import CategoricalPolicy, GaussianPolicy, ValueCritic
from wocar.networks.layers import linear
from wocar.training import a2c, ppo
from wocar.training.learner import Learner, make_batch
from wocar.training.networks import Networks
from wocar.types import ActionSpace, Batch, EnvSpec, Transitions

sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")]

OBS, ENVS, STEPS = 5, 4, 16
SPACES = {"gaussian": gymnasium.spaces.Box(-1, 1, (3,)), "categorical": gymnasium.spaces.Discrete(3)}
EXACT = {"rtol": 1e-4, "atol": 1e-6}


class Blank(gymnasium.Env):
    """Spaces without a world: the oracle trains on our batch."""

    def __init__(self, action_space: gymnasium.Space) -> None:
        self.observation_space, self.action_space = gymnasium.spaces.Box(-9, 9, (OBS,)), action_space


def make_oracle(algorithm: Any, kind: str, optimiser: Any, lr: float, **options: Any) -> Any:
    model = algorithm(
        "MlpPolicy", Blank(SPACES[kind]), learning_rate=lr, n_steps=STEPS, seed=0, max_grad_norm=float("inf"),
        vf_coef=1.0, normalize_advantage=False, device="cpu", **options,
        policy_kwargs={
            "net_arch": {"pi": [64, 64], "vf": [64, 64]},
            "activation_fn": torch.nn.Tanh,
            "optimizer_class": optimiser,
            "optimizer_kwargs": {"eps": 1e-5} if optimiser is torch.optim.Adam else {},
        },
    )  # fmt: skip
    model.set_logger(sb3.common.logger.Logger(None, []))
    model.rollout_buffer = type(model.rollout_buffer)(
        STEPS, model.observation_space, model.action_space, gae_lambda=0.9, gamma=0.95, n_envs=ENVS
    )
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def copy_learner(model: Any) -> Learner:
    """Our networks with the oracle's weights."""
    policy, kind = model.policy, type(model.action_space).__name__
    nets = policy.mlp_extractor

    def array(parameter: Any) -> np.ndarray:
        return parameter.detach().clone().numpy()  # JAX would share the memory that the oracle trains

    def network(hidden: Any, head: Any) -> eqx.nn.Sequential:
        dense = [linear(array(m.weight), array(m.bias)) for m in (hidden[0], hidden[2], head)]
        tanh = eqx.nn.Lambda(jnp.tanh)
        return eqx.nn.Sequential([dense[0], tanh, dense[1], tanh, dense[2]])

    actor = network(nets.policy_net, policy.action_net)
    ours = CategoricalPolicy(actor) if kind == "Discrete" else GaussianPolicy(actor, jnp.asarray(array(policy.log_std)))
    return Learner(ours, ValueCritic(network(nets.value_net, policy.value_net)), None, None, ())


@eqx.filter_jit
def batch_of(learner: Learner, rollout: Transitions) -> Batch:
    outputs = Networks((64, 64), 1.0, 0.0).run(learner.policy, learner.value, learner.memory, rollout)
    return make_batch(rollout, outputs, gamma=0.95, gae_lambda=0.9)


def weights(learner: Learner) -> list[np.ndarray]:
    return [np.asarray(x) for x in jax.tree.leaves(eqx.filter((learner.policy, learner.value), eqx.is_array))]


def make_rollout(kind: str, seed: int = 0) -> Transitions:
    """Chained observations, some episodes terminated, none truncated; axes (n, T)."""
    rng = np.random.default_rng(seed)
    path = rng.standard_normal((ENVS, STEPS + 1, OBS)).astype(np.float32)
    grid = (ENVS, STEPS)
    actions = rng.integers(0, 3, grid) if kind == "categorical" else rng.standard_normal((*grid, 3)).astype(np.float32)
    rewards, ends = rng.standard_normal(grid).astype(np.float32), rng.random(grid) < 0.15
    return Transitions(path[:, :-1], actions, rewards, path[:, 1:], ends, np.zeros(grid, bool))


def fill_buffer(model: Any, rollout: Transitions, stale: float) -> None:
    """The rollout in the oracle's buffer; `stale` is the noise on old log-probabilities that moves the ratio from 1."""
    buffer, rng = model.rollout_buffer, np.random.default_rng(1)
    starts = np.ones(ENVS)
    buffer.reset()
    for t in range(STEPS):
        obs, actions = torch.as_tensor(rollout.obs[:, t]), torch.as_tensor(rollout.actions[:, t])
        with torch.no_grad():
            values, log_prob, _ = model.policy.evaluate_actions(obs, actions)
        log_prob = log_prob + stale * torch.as_tensor(rng.standard_normal(ENVS), dtype=torch.float32)
        shaped = rollout.actions[:, t].reshape(ENVS, -1)
        buffer.add(rollout.obs[:, t], shaped, rollout.rewards[:, t], starts, values, log_prob)
        starts = rollout.terminated[:, t]
    with torch.no_grad():
        last = model.policy.predict_values(torch.as_tensor(rollout.next_obs[:, -1]))
    buffer.compute_returns_and_advantage(last, starts)


def flat(x: np.ndarray) -> np.ndarray:
    """The oracle's (T, n) in our order."""
    return np.swapaxes(x, 0, 1).reshape(ENVS * STEPS)


@pytest.mark.parametrize("kind", SPACES)
def test_log_prob_entropy_value_and_gae(kind: str) -> None:
    model, rollout = make_oracle(sb3.PPO, kind, torch.optim.SGD, 1.0), make_rollout(kind)
    fill_buffer(model, rollout, stale=0.0)
    learner, buffer = copy_learner(model), model.rollout_buffer
    batch = batch_of(learner, rollout)
    np.testing.assert_allclose(batch.log_prob, flat(buffer.log_probs), **EXACT)
    np.testing.assert_allclose(batch.value, flat(buffer.values), **EXACT)
    np.testing.assert_allclose(batch.advantage, flat(buffer.advantages), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(batch.returns, flat(buffer.returns), rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        entropy = model.policy.get_distribution(torch.as_tensor(rollout.obs[:, 0])).entropy()
    np.testing.assert_allclose(learner.policy.entropy(rollout.obs[:, 0]), entropy, **EXACT)


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("algorithm", ["ppo", "a2c"])
def test_one_plain_gradient_step_of_its_train(algorithm: str, kind: str) -> None:
    """SGD of size 1: what the oracle's weights lose is the gradient of its whole loss."""
    sgd, rollout = torch.optim.SGD, make_rollout(kind)
    if algorithm == "ppo":
        model = make_oracle(sb3.PPO, kind, sgd, 1.0, ent_coef=0.1, batch_size=ENVS * STEPS, n_epochs=1, clip_range=0.2)
    else:
        model = make_oracle(sb3.A2C, kind, sgd, 1.0, ent_coef=0.1, use_rms_prop=False)
    fill_buffer(model, rollout, stale=0.3)
    before, buffer = copy_learner(model), model.rollout_buffer
    old_log_prob, advantages = flat(buffer.log_probs), flat(buffer.advantages)
    model.train()
    after = copy_learner(model)
    batch = batch_of(before, rollout)._replace(log_prob=old_log_prob)

    def policy_loss(policy: Any) -> tuple[jax.Array, dict]:
        ours = ppo.ppo_loss(policy, batch, advantages, 0.2, 0.1)
        if algorithm == "a2c":
            ours = a2c.a2c_loss(policy, batch, advantages, 0.1)
        return ours.value, ours.info

    def value_loss(value: Any) -> tuple[jax.Array, jax.Array]:
        loss = ppo.value_loss(value(batch.obs), batch, None)
        return loss, loss

    policy_grad, info = eqx.filter_jit(eqx.filter_grad(policy_loss, has_aux=True))(before.policy)
    value_grad, value_error = eqx.filter_jit(eqx.filter_grad(value_loss, has_aux=True))(before.value)
    ours = jax.tree.leaves(eqx.filter((policy_grad, value_grad), eqx.is_array))
    for gradient, old, new in zip(ours, weights(before), weights(after), strict=True):
        np.testing.assert_allclose(gradient, old - new, rtol=1e-3, atol=1e-5)
    logged = model.logger.name_to_value
    name = "policy_gradient_loss" if algorithm == "ppo" else "policy_loss"
    np.testing.assert_allclose(info["policy_loss"], logged[f"train/{name}"], **EXACT)
    np.testing.assert_allclose(-info["entropy"], logged["train/entropy_loss"], rtol=1e-4)
    np.testing.assert_allclose(value_error, logged["train/value_loss"], rtol=1e-4)
    if algorithm == "ppo":
        assert 0.1 < info["clipped"] < 0.9
        np.testing.assert_allclose(info["clipped"], logged["train/clip_fraction"], rtol=1e-5)


@pytest.mark.parametrize("kind", SPACES)
def test_a_whole_ppo_update_is_its_train(kind: str) -> None:
    """Three epochs of Adam on the whole batch; advantages are standardised our way (their std divides by n - 1)."""
    model = make_oracle(sb3.PPO, kind, torch.optim.Adam, 3e-3, batch_size=ENVS * STEPS, n_epochs=3, clip_range=0.2)
    rollout = make_rollout(kind)
    fill_buffer(model, rollout, stale=0.0)
    config = ppo.PPOConfig(
        gamma=0.95, gae_lambda=0.9, policy_lr=3e-3, value_lr=3e-3, anneal_lr=False,
        policy_epochs=3, value_epochs=3, minibatches=1,
    )  # fmt: skip
    algorithm = ppo.PPO(config, Vanilla())
    size = ActionSpace(3) if kind == "categorical" else ActionSpace(3, -np.ones(3), np.ones(3))
    fresh, before = algorithm.init(EnvSpec("Blank", (OBS,), size), jax.random.key(0)), copy_learner(model)
    learner = fresh._replace(policy=before.policy, value=before.value)
    after, _ = algorithm.update(learner, rollout, jax.random.key(1), jnp.float32(0))
    buffer = model.rollout_buffer
    buffer.advantages = np.asarray(standardise(jnp.asarray(buffer.advantages)))
    model.train()
    for start, ours, theirs in zip(weights(before), weights(after), weights(copy_learner(model)), strict=True):
        assert np.abs(ours - start).max() > 1e-3
        np.testing.assert_allclose(ours, theirs, atol=2e-4)
