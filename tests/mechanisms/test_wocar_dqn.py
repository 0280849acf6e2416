"""Algorithm 2: its targets by hand, its regulariser, and DQN, SA-DQN, WocaR-DQN as one algorithm, bit for bit."""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.bounds import taken
from wocar.config_base import configured, flat_settings
from wocar.mechanisms.objective import BaseLoss
from wocar.mechanisms.q_config import WocarQConfig
from wocar.mechanisms.q_objective import ActionValues, QBatch, QNet, StepOutcome, spaced
from wocar.mechanisms.wocar_dqn import WocarQ, WocarQState
from wocar.methods.presets import default_config, make_algorithm
from wocar.networks import DiscreteCritic, GreedyPolicy, linear, mlp
from wocar.training.dqn import DQN
from wocar.training.run_config import RunConfig
from wocar.types import ActionSpace, EnvSpec, UserError

SPECS = {
    "vector": EnvSpec("toy", (4,), ActionSpace(3)),
    "pixels": EnvSpec("toy", (1, 36, 36), ActionSpace(3)),
}
LATE = jnp.float32(0.9)
KEY = jax.random.key(0)
NO_LOSS = BaseLoss(jnp.zeros(()), {})


def config(method: str, **robust: Any) -> RunConfig:
    base = default_config(method, "toy")
    changes = {"hidden": (8, 8), "network": "small", "target_update_interval": 2, "tau": 1.0}
    algorithm = dataclasses.replace(base.algorithm, **changes)
    if base.robust is None:
        return dataclasses.replace(base, algorithm=algorithm)
    settings = {"reg_steps": 2, "eps": 0.3, "kappa_reg": 0.5, **robust}
    return dataclasses.replace(base, algorithm=algorithm, robust=configured(base.robust, **settings))


def make_batch(spec: EnvSpec, n: int = 16) -> QBatch:
    rng = np.random.default_rng(0)
    obs, next_obs = rng.random((2, n, *spec.obs_shape), dtype=np.float32)
    discounts = np.where(rng.random(n) < 0.2, 0, 0.99).astype(np.float32)
    rewards, weights = rng.normal(size=n).astype(np.float32), rng.random(n, dtype=np.float32)
    return QBatch(obs, rng.integers(0, 3, n).astype(np.int32), rewards, next_obs, discounts, weights)


@functools.cache
def trained(settings: RunConfig, kind: str, updates: int = 3) -> list[np.ndarray]:
    """Weights of the acting network after some updates late in training, when every schedule is open."""
    spec = SPECS[kind]
    algorithm = make_algorithm(settings, spec)
    assert isinstance(algorithm, DQN)
    learner = algorithm.init(spec, jax.random.key(3))
    for k in range(updates):
        learner, _, _ = algorithm.update(learner, make_batch(spec), jax.random.key(k), jnp.float32(0.9))
    return [np.asarray(x) for x in jax.tree.leaves(eqx.filter(learner.policy, eqx.is_array))]


def same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("env", ["CartPole-v1", "LunarLander-v3", "GoHomeGrid-v0", "Pong-v5"])
def test_every_kind_of_dqn_has_settings_that_can_run(env: str) -> None:
    for method in ("dqn", "sa-dqn", "wocar-dqn", "radial-dqn"):
        default_config(method, env).check()


def test_settings_for_fine_tuning_are_for_some_tasks() -> None:
    tuned, plain = (default_config("wocar-dqn", "CartPole-v1", preset) for preset in ("fine-tune", "paper"))
    assert tuned.algorithm.tau < plain.algorithm.tau  # type: ignore[union-attr]
    for method, env in (("dqn", "CartPole-v1"), ("wocar-dqn", "GoHomeGrid-v0"), ("wocar-dqn", "Breakout-v5")):
        with pytest.raises(UserError, match="fine-tune preset, on CartPole"):
            default_config(method, env, "fine-tune")


@pytest.mark.parametrize("env", ["CartPole-v1", "LunarLander-v3", "Pong-stack2-v5", "Freeway-v5"])
def test_sa_dqn_is_fine_tuned_as_wocar_dqn_is(env: str) -> None:
    """The control: the same algorithm, steps, radius and regulariser."""
    control, ours = (default_config(method, env, "fine-tune") for method in ("sa-dqn", "wocar-dqn"))
    control.check()
    assert (control.algorithm, control.steps) == (ours.algorithm, ours.steps)
    shared = {
        name: value for name, value in flat_settings(ours.robust).items() if name in flat_settings(control.robust)
    }
    assert flat_settings(control.robust) == shared


@pytest.mark.parametrize("env", ["Pong-stack2-v5", "Freeway-v5"])
def test_fine_tuning_fits_the_agents_of_the_small_preset(env: str) -> None:
    tuned, plain = (default_config(m, env, preset) for m, preset in (("wocar-dqn", "fine-tune"), ("dqn", "small")))
    tuned.check()
    assert tuned.steps < plain.steps
    assert tuned.algorithm.network == plain.algorithm.network == "small"  # type: ignore[union-attr]
    assert tuned.robust.reg_reference == "values"  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", list(SPECS))
def test_doors_closed_one_by_one(kind: str) -> None:
    plain = trained(config("dqn"), kind)
    assert same(plain, trained(config("sa-dqn", kappa_reg=0.0), kind))
    assert same(plain, trained(config("wocar-dqn", kappa_reg=0.0, kappa_wst=0.0, bounds="ibp"), kind))


def test_doors_closed_with_several_steps() -> None:
    """Of one step only the worst critic is to know."""
    spec, key, now = SPECS["vector"], jax.random.key(3), jnp.float32(0.9)
    far, one = make_batch(spec), make_batch(spec)._replace(rewards=np.zeros(16, np.float32), next_obs=np.zeros((16, 4)))
    both = one._replace(later=StepOutcome(far.rewards, far.next_obs, far.discounts))
    closed = config("wocar-dqn", kappa_reg=0.0, kappa_wst=0.0, bounds="ibp")
    policies = []
    for run, batch in ((config("dqn"), far), (closed, both)):
        algorithm = make_algorithm(run, spec)
        assert isinstance(algorithm, DQN)
        learner, _, _ = algorithm.update(algorithm.init(spec, key), batch, key, now)
        policies.append([np.asarray(x) for x in jax.tree.leaves(eqx.filter(learner.policy, eqx.is_array))])
    assert same(*policies)


def test_an_open_door_changes_the_network() -> None:
    plain = trained(config("dqn"), "vector")
    assert not same(plain, trained(config("sa-dqn"), "vector"))
    assert not same(plain, trained(config("wocar-dqn", reg=False, bounds="ibp", eps=1.0), "vector"))


class Recorder:
    """The base algorithm as a notebook: what each network was asked to learn."""

    def __init__(self) -> None:
        self.wanted: list[np.ndarray] = []

    def next_value(self, values: ActionValues) -> jax.Array:
        return taken(values.target, jnp.argmax(values.online, axis=-1))

    def descend(self, net: QNet, batch: QBatch, wanted: jax.Array) -> tuple[QNet, jax.Array]:
        self.wanted.append(np.asarray(wanted))
        return net, jnp.zeros(len(wanted))


def table(values: list[float], slopes: list[float] | None = None) -> DiscreteCritic:
    """Q(s, a) = values[a] + slopes[a] s for a state of one number."""
    weight = np.array(slopes or [0.0] * len(values), np.float32)[:, None]
    return DiscreteCritic(eqx.nn.Sequential([linear(weight, np.array(values, np.float32))]))


def net(online: list[float], target: list[float]) -> QNet:
    return QNet(table(online), table(target), ())


def doors(**switch: Any) -> list[np.ndarray]:
    """All that WocaR-DQN's doors say of one batch late in training."""
    settings = config("wocar-dqn", **switch).robust
    assert isinstance(settings, WocarQConfig)
    spec, batch, base = SPECS["vector"], make_batch(SPECS["vector"]), Recorder()
    nets = [DiscreteCritic(mlp([4, 8, 8, 3], jax.random.key(k), activation="relu")) for k in range(5)]
    extra = WocarQState(QNet(nets[0], nets[1], ()), QNet(nets[2], nets[3], ()))
    policy, objective = GreedyPolicy(nets[4].network), WocarQ(settings, spec.actions)
    _, notes, _ = objective.evaluate(extra, policy, batch, base, KEY, LATE)
    mixed = objective.improve(QNet(nets[4], None, ()).values(batch.next_obs), batch, notes, LATE)
    loss, _ = objective.loss(NO_LOSS, policy, batch, notes, KEY, LATE)
    return [np.asarray(x) for x in (*base.wanted, *mixed, loss)]


@pytest.mark.parametrize(
    "switch",
    [
        {"importance": False},
        {"reg": False},
        {"kappa_wst": 0.0},
        {"bounds": "ibp"},
        {"threat": "action"},
        {"reg_loss": "kl"},
        {"reg_solver": "convex"},
        {"reg_loss": "kl", "reg_solver": "convex"},
        {"reg_steps": 1},
        {"reg_lead": 0.0},
        {"reg_reference": "values"},
        {"reg_share": 0.25},
        {"worst_share": 0.25},
        {"norm": "l2"},
        {"eps_schedule": "cubic", "eps_end": 1.0},
    ],
    ids=str,
)
def test_every_switch_changes_the_result(switch: dict[str, Any]) -> None:
    base = {"bounds": "crown", "eps": 0.1}
    assert not same(doors(**base), doors(**{**base, **switch}))


def test_algorithm_2_by_hand() -> None:
    """At s' = 0.5 with eps 0.1, Q_r = (1 + s, 2 - s, 0): the attacker can cause actions 0 and 1, never 2."""
    settings = configured(WocarQConfig, eps=0.1, eps_end=0.5, kappa_wst=0.4, kappa_schedule="constant")
    extra = WocarQState(natural=net([3, 1, 2], [5, 6, 7]), worst=net([2, 1, -9], [10, 20, 30]))
    policy = GreedyPolicy(table([1, 2, 0], [1, -1, 0]).network)
    batch = QBatch(*(np.array(x, np.float32) for x in ([[0.0]] * 2, [0, 1], [1, 1], [[0.5]] * 2, [0.9, 0], [1, 1])))
    base, objective = Recorder(), WocarQ(settings, ActionSpace(3))
    _, notes, info = objective.evaluate(extra, policy, batch, base, KEY, LATE)
    natural, worst = base.wanted
    # natural: the online Q_v chooses 0, its target says 5; terminal: the reward alone
    np.testing.assert_allclose(natural, [1 + 0.9 * 5, 1])
    # worst: of 0 and 1 the online critic calls 1 the worse, its target says 20
    np.testing.assert_allclose(worst, [1 + 0.9 * 20, 1])
    assert info["set_size"] == 2
    # w(s) = 3 - 1 in every state, so 1 after division by the mean
    np.testing.assert_allclose(notes.reg.importance, [1, 1], rtol=1e-6)
    own = net([0, 0, 0], [0, 0, 0]).values(batch.next_obs)
    online, target = objective.improve(own, batch, notes, LATE)
    np.testing.assert_allclose(online[0], [0.6 * 3 + 0.4 * 2, 0.6 * 1 + 0.4 * 1, 0.6 * 2 - 0.4 * 9], rtol=1e-6)
    np.testing.assert_allclose(target[0], [0.6 * 5 + 0.4 * 10, 0.6 * 6 + 0.4 * 20, 0.6 * 7 + 0.4 * 30], rtol=1e-6)


def test_several_steps_are_not_for_the_worst_critic() -> None:
    settings = configured(WocarQConfig, eps=0.1, eps_end=0.5)
    extra = WocarQState(natural=net([3, 1, 2], [5, 6, 7]), worst=net([2, 1, -9], [10, 20, 30]))
    policy = GreedyPolicy(table([1, 2, 0], [1, -1, 0]).network)
    one = QBatch(*(np.array(x, np.float32) for x in ([[0.0]], [0], [1], [[0.5]], [0.9], [1])))
    later = StepOutcome(*(np.array(x, np.float32) for x in ([2.5], [[0.7]], [0.7])))
    base = Recorder()
    WocarQ(settings, ActionSpace(3)).evaluate(extra, policy, one._replace(later=later), base, KEY, LATE)
    np.testing.assert_allclose(base.wanted, [[2.5 + 0.7 * 5], [1 + 0.9 * 20]])


def test_the_regulariser_keeps_the_action_of_the_values_or_its_own() -> None:
    """Q_r prefers action 1; the mixed targets, 0.6 (5, 6, 7) + 0.4 (10, 20, -30), action 1 too; without κ action 2."""
    extra = WocarQState(natural=net([0, 0, 0], [5, 6, 7]), worst=net([0, 0, 0], [10, 20, -30]))
    policy = GreedyPolicy(table([1, 2, 0]).network)
    batch = QBatch(*(np.array(x, np.float32) for x in ([[0.0]], [0], [0], [[0.5]], [0.9], [1])))

    def penalty(**settings: Any) -> float:
        objective = WocarQ(configured(WocarQConfig, kappa_reg=1.0, importance=False, **settings), ActionSpace(3))
        _, notes, _ = objective.evaluate(extra, policy, batch, Recorder(), KEY, LATE)
        return float(objective.loss(NO_LOSS, policy, batch, notes, KEY, LATE)[0])

    assert penalty() == pytest.approx(1 - 2)
    assert penalty(reg_reference="values", kappa_wst=0.4, kappa_schedule="constant") == pytest.approx(1 - 2)
    assert penalty(reg_reference="values", kappa_wst=0.0) == pytest.approx(2 - 0)


def test_rows_evenly_spaced() -> None:
    rows = np.arange(8)
    assert spaced(0.25)(rows).tolist() == [0, 4]
    assert spaced(0.75)(rows).tolist() == [0, 1, 2, 4, 5, 6]
    assert spaced(0.0)(rows).tolist() == [0]
    assert spaced(1.0)(rows) is rows


@pytest.mark.parametrize("several_steps", [False, True])
@pytest.mark.parametrize("reference", ["own", "values"])
def test_a_share_of_rows_is_what_those_rows_would_have_alone(reference: Any, several_steps: bool) -> None:
    """Worst targets, the rows that teach them and the penalty; natural targets and mixed values are of every row."""
    spec, batch, quarter = SPECS["vector"], make_batch(SPECS["vector"]), np.arange(0, 16, 4)
    if several_steps:
        far = make_batch(spec, 16)
        batch = batch._replace(later=StepOutcome(far.rewards * 2, far.next_obs + 1, far.discounts))
    nets = [DiscreteCritic(mlp([4, 8, 8, 3], jax.random.key(k), activation="relu")) for k in range(5)]
    extra = WocarQState(QNet(nets[0], nets[1], ()), QNet(nets[2], nets[3], ()))
    policy = GreedyPolicy(nets[4].network)
    usual = {"eps": 0.1, "reg_solver": "convex", "reg_reference": reference, "importance": False}

    def told(batch: QBatch, **shares: float) -> tuple[list[np.ndarray], Any, float]:
        objective, base = WocarQ(configured(WocarQConfig, **usual, **shares), spec.actions), Recorder()
        _, notes, _ = objective.evaluate(extra, policy, batch, base, KEY, LATE)
        return base.wanted, notes, float(objective.loss(NO_LOSS, policy, batch, notes, KEY, LATE)[0])

    (natural, worst), notes, _ = told(batch)
    (same_natural, some_worst), same_notes, penalty = told(batch, reg_share=0.25, worst_share=0.25)
    np.testing.assert_array_equal(same_natural, natural)
    np.testing.assert_allclose(some_worst, worst[quarter], rtol=1e-5)
    np.testing.assert_array_equal(same_notes.worst.target, notes.worst.target)
    alone = QBatch(*(None if x is None else jax.tree.map(lambda y: y[quarter], x) for x in batch))
    assert penalty == pytest.approx(told(alone)[2], rel=1e-5)


def test_the_worst_target_follows_the_scheduled_radius() -> None:
    """At s' = 0.3 the greedy action leads by 0.4: eps 0.1 cannot change it, eps 0.3 can."""
    policy = GreedyPolicy(table([1, 2, 0], [1, -1, 0]).network)
    extra = WocarQState(natural=net([0, 0, 0], [0, 0, 0]), worst=net([-1, 1, -9], [-1, 1, -9]))
    batch = QBatch(*(np.array(x, np.float32) for x in ([[0.0]], [0], [0], [[0.3]], [1], [1])))
    objective = WocarQ(configured(WocarQConfig, eps=0.3, eps_begin=0.0, eps_end=0.9), ActionSpace(3))
    for progress, wanted in ((0.0, 1), (0.3, 1), (0.9, -1)):
        base = Recorder()
        objective.evaluate(extra, policy, batch, base, KEY, jnp.float32(progress))
        assert base.wanted[1] == pytest.approx(wanted)


def test_kappa_is_zero_first_and_whole_at_the_end() -> None:
    objective = WocarQ(WocarQConfig(kappa_wst=0.5, kappa_begin=1 / 3, kappa_schedule="exponential"), ActionSpace(3))
    values = [float(objective.kappa(jnp.float32(p))) for p in (0.0, 1 / 3, 0.5, 0.75, 1.0)]
    assert values[:2] == [0, 0]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(0.5)
