"""What attacks need of an agent, and why one does not have it."""

from typing import Literal

from wocar.attacks.own_critics import own_critic, own_q
from wocar.envs import can_copy_states
from wocar.evaluation.attack_context import AttackContext
from wocar.networks import RecurrentCritic

Needs = Literal[
    "",
    "value critic",
    "own q",
    "own worst critic",
    "flat observations",
    "surrogate",
    "trainer",
    "given attacker",
    "simulator",
]


def unmet(needs: Needs, context: AttackContext) -> str | None:
    """Why the agent, or what was given with it, does not have what an attack needs."""
    agent, flat = context.agent, len(context.agent.spec.obs_shape) == 1
    value = agent.critics.get("value")
    reasons: dict[Needs, tuple[tuple[bool, str], ...]] = {
        "": (),
        "value critic": (
            (value is None, "the agent has no value critic"),
            (
                isinstance(value, RecurrentCritic),
                "the agent's value critic has a memory, which this attack does not follow",
            ),
        ),
        "own q": ((own_q(agent) is None, "the agent has no critic of its actions (SAC, TD3 and DQN have)"),),
        "own worst critic": (
            (own_critic(agent, "worst") is None, "the agent has no worst critic (WocaR methods have)"),
        ),
        "flat observations": ((not flat, "it learns a critic of flat observations, the agent sees images"),),
        "surrogate": (
            (not flat, "its surrogate sees flat observations, the agent sees images"),
            (agent.recurrent, "its surrogate has no memory, the agent has"),
        ),
        "simulator": (
            (not can_copy_states(agent.spec.id), "it needs copies of the simulator's state, as MuJoCo's tasks allow"),
            (agent.recurrent, "it does not follow the agent's memory"),
        ),
        "trainer": ((context.train is None, "nothing that trains attackers was given"),),
        "given attacker": ((not context.given, "name folders of trained attackers (--attackers)"),),
    }
    return next((reason for holds, reason in reasons[needs] if holds), None)
