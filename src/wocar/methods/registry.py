"""Registry of training methods: one entry each; other packages add theirs with `register_method`."""

from wocar.mechanisms.policy_config import RadialConfig, RobustConfig, WocarConfig
from wocar.mechanisms.q_config import RadialQConfig, RobustQConfig, WocarQConfig
from wocar.methods.method import Method
from wocar.plugins import load_plugins
from wocar.training.a2c import A2CConfig
from wocar.training.adversary_config import AttackConfig, DirectorConfig
from wocar.training.dqn import DQNConfig
from wocar.training.ppo import PPOConfig
from wocar.training.recurrent_ppo import RecurrentPPOConfig
from wocar.training.sac import SACConfig
from wocar.types import UserError

METHODS: dict[str, Method] = {}
"""Those registered so far; `find_method` and `all_methods` know those of installed plugins too."""


def register_method(method: Method) -> Method:
    """Let `wocar train`, presets, plans and reports know a method."""
    if METHODS.get(method.name, method) != method:
        raise ValueError(f"there is another method {method.name!r}")
    METHODS[method.name] = method
    return method


def find_method(name: str) -> Method:
    if name not in METHODS:
        load_plugins("wocar.methods")
    if name not in METHODS:
        raise UserError(f"unknown method {name!r}; methods: {', '.join(METHODS)}")
    return METHODS[name]


def all_methods() -> list[Method]:
    load_plugins("wocar.methods")
    return list(METHODS.values())


WITH_REFERENCE = ("paper", "reference")
WITH_SMALL = ("paper", "small")
for entry in (
    Method("ppo", "PPO", "proximal policy optimisation", PPOConfig, presets=WITH_REFERENCE),
    Method("a2c", "A2C", "advantage actor-critic", A2CConfig, presets=WITH_REFERENCE),
    Method(
        name="lstm-ppo",
        label="LSTM-PPO",
        about="PPO with an LSTM each for policy and value",
        algorithm=RecurrentPPOConfig,
        presets=WITH_REFERENCE,
        cost=1.0,
    ),
    Method(
        name="sa-ppo",
        label="SA-PPO",
        about="PPO with the state-adversarial regulariser",
        algorithm=PPOConfig,
        objective=RobustConfig,
        presets=WITH_REFERENCE,
        family="robust",
        rank=1,
        cost=1.2,
    ),
    Method(
        name="sa-ppo-w",
        label="SA-PPO-w",
        about="SA-PPO weighted by state importance: wocar-ppo without its worst-attack term",
        algorithm=PPOConfig,
        objective=WocarConfig,
        presets=WITH_REFERENCE,
        family="robust",
        rank=1,
        cost=1.5,
    ),
    Method(
        name="sa-a2c",
        label="SA-A2C",
        about="A2C with the state-adversarial regulariser",
        algorithm=A2CConfig,
        objective=RobustConfig,
        presets=WITH_REFERENCE,
        family="robust",
        rank=1,
        cost=1.2,
    ),
    Method(
        name="wocar-ppo",
        label="WocaR-PPO",
        about="worst-case-aware robust PPO",
        algorithm=PPOConfig,
        objective=WocarConfig,
        presets=WITH_REFERENCE,
        family="robust",
        rank=4,
        cost=1.5,
    ),
    Method(
        name="wocar-lstm-ppo",
        label="WocaR-LSTM-PPO",
        about="worst-case-aware robust PPO with an LSTM",
        algorithm=RecurrentPPOConfig,
        objective=WocarConfig,
        presets=WITH_REFERENCE,
        family="robust",
        rank=4,
        cost=1.5,
    ),
    Method(
        name="wocar-a2c",
        label="WocaR-A2C",
        about="worst-case-aware robust A2C",
        algorithm=A2CConfig,
        objective=WocarConfig,
        presets=WITH_REFERENCE,
        family="robust",
        rank=4,
        cost=1.5,
    ),
    Method("sac", "SAC", "soft actor-critic, for continuous actions", SACConfig),
    Method("dqn", "DQN", "deep Q-learning, for discrete actions and pixels", DQNConfig, presets=WITH_SMALL),
    Method(
        name="sa-dqn",
        label="SA-DQN",
        about="DQN with the state-adversarial regulariser",
        algorithm=DQNConfig,
        objective=RobustQConfig,
        presets=WITH_SMALL,
        family="robust",
        rank=1,
        cost=1.2,
    ),
    Method(
        name="wocar-dqn",
        label="WocaR-DQN",
        about="worst-case-aware robust DQN",
        algorithm=DQNConfig,
        objective=WocarQConfig,
        presets=(*WITH_SMALL, "fine-tune"),
        family="robust",
        rank=4,
        cost=1.5,
    ),
    Method(
        name="radial-dqn",
        label="RADIAL-DQN",
        about="DQN whose worse actions may not look better within bounds; fine-tunes --init-from AGENT (RADIAL)",
        algorithm=DQNConfig,
        objective=RadialQConfig,
        starts_from="dqn",
        presets=WITH_SMALL,
        family="robust",
        rank=3,
        cost=1.3,
    ),
    Method(
        name="radial-ppo",
        label="RADIAL-PPO",
        about="PPO whose loss is also that of the least favourable policy within bounds (RADIAL)",
        algorithm=PPOConfig,
        objective=RadialConfig,
        family="robust",
        rank=3,
        cost=1.3,
    ),
    Method(
        name="atla-ppo",
        label="ATLA-PPO",
        about="PPO in turn with an SA-RL adversary that attacks it (ATLA)",
        algorithm=PPOConfig,
        adversary="sa-rl",
        family="atla",
        rank=2,
        cost=2.2,
    ),
    Method(
        name="atla-lstm-sa-ppo",
        label="ATLA-LSTM-SA-PPO",
        about="ATLA with LSTMs and the state-adversarial regulariser",
        algorithm=RecurrentPPOConfig,
        objective=RobustConfig,
        adversary="sa-rl",
        family="atla",
        rank=3,
        cost=2.6,
    ),
    Method(
        name="pa-atla-a2c",
        label="PA-ATLA-A2C",
        about="A2C in turn with a PA-AD adversary",
        algorithm=A2CConfig,
        adversary="pa-ad",
        family="atla",
        rank=2,
        cost=2.2,
    ),
    Method(
        name="pa-atla-ppo",
        label="PA-ATLA-PPO",
        about="PPO in turn with a PA-AD adversary, with the state-adversarial regulariser (PA-ATLA)",
        algorithm=PPOConfig,
        objective=RobustConfig,
        adversary="pa-ad",
        family="atla",
        rank=2,
        cost=2.2,
    ),
    Method(
        name="sa-rl",
        label="SA-RL",
        about="an attacker of --victim that learns its perturbations",
        algorithm=PPOConfig,
        attack=AttackConfig,
        layers="measured-attacker",
        cost=1.3,
    ),
    Method(
        name="pa-ad",
        label="PA-AD",
        about="an attacker of --victim that learns where to push it, along the victim's gradient",
        algorithm=PPOConfig,
        attack=DirectorConfig,
        layers="measured-attacker",
        cost=1.3,
    ),
):
    register_method(entry)
