"""Critics that an agent was trained with, as attackers use them."""

from typing import Any

from wocar.agent import Agent
from wocar.networks import DiscreteCritic, GreedyPolicy, TwinCritic


def own_critic(agent: Agent, name: str) -> Any:
    """A critic that the agent was trained with, both of twins; None where it has none of this name."""
    critic, twin = (agent.critics.get(n) for n in (name, f"{name}-twin"))
    return critic if twin is None else TwinCritic(critic, twin)


def own_q(agent: Agent) -> Any:
    """The Q that the agent's policy maximises; None where it has none."""
    if isinstance(agent.policy, GreedyPolicy):
        return DiscreteCritic(agent.policy.network)
    return own_critic(agent, "q")
