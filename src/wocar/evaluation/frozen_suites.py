"""The frozen suites.

A suite is data. Each attack has a list of settings; the worst of them is selected on episodes of its own. A changed
setting needs a new name: a test holds a hash of each suite.
"""

from collections.abc import Iterable
from itertools import product
from typing import Any

from wocar.evaluation.fault_suite import SENSORS_V1

AttackSettings = dict[str, Any]
Attacks = dict[str, list[AttackSettings]]

EPISODES, SELECT_EPISODES = 50, 25
BUDGET_STEPS = 500_000
"""Environment steps that train one learned attacker."""


def _grid(**values: Iterable[Any]) -> list[AttackSettings]:
    """Every combination of the values."""
    return [dict(zip(values, row, strict=True)) for row in product(*values.values())]


def _learned(*settings: AttackSettings, steps: int = BUDGET_STEPS) -> list[AttackSettings]:
    return [{"steps": steps, "clip_range": 0.2, "ent_coef": 0.0, **own} for own in settings]


EXPLORATIONS = 10
FROM_SCRATCH: AttackSettings = {"policy_lr": 1e-3, "value_lr": 1e-4, "init_std": 0.5, "value_clip": True, "seed": 0}
GUIDED: AttackSettings = {
    "policy_lr": 3e-4,
    "value_lr": 1e-3,
    "init_std": 0.2,
    "value_clip": False,
    "guide": EXPLORATIONS,
}
DIRECTED: AttackSettings = {**GUIDED, "guide": "director"}
POPULATION: tuple[AttackSettings, ...] = (
    FROM_SCRATCH,
    {**FROM_SCRATCH, "policy_lr": 3e-4, "value_lr": 3e-4, "init_std": 1.0, "seed": 1},
    GUIDED,
    {**GUIDED, "policy_lr": 1e-3, "seed": 1},
    DIRECTED,
    {**DIRECTED, "policy_lr": 1e-3, "seed": 1},
)
"""Attackers that begin anew, where a worst critic points, where a searched director points."""
ROBUST_CRITICS: list[AttackSettings] = [
    {"radius": 0.05, "reg": 0.3, "lr": 3e-4, "gamma": 0.9},
    {"radius": 0.3, "reg": 0.3, "lr": 3e-3, "gamma": 0.99},
]
TARGETED: AttackSettings = {"targeted": True}
"""Discrete actions: critics' attacks search towards each action."""
PAPER_CRITICS = _grid(
    radius=(0.02, 0.05, 0.1, 0.15, 0.2, 0.3), reg=(0.1, 0.3, 1.0, 3.0, 10.0), lr=(3e-4,), gamma=(0.99,)
)
PAPER_ATTACKERS = _grid(policy_lr=(3e-4, 1e-3, 3e-3), value_lr=(1e-4, 3e-4, 1e-3))
"""The learning rates around which the published grids lie."""
DIRECTORS = _grid(actor=("target", "sign"), policy_lr=(3e-4,), value_lr=(3e-4,))
NO_GRADIENTS: Attacks = {
    "none": [{}],
    "random": [{}],
    "random-corner": [{}],
    "random-search": [{"queries": 16}, {"queries": 64}],
    "sa-rl": _learned({**FROM_SCRATCH, "steps": 200_000}),
}
NOT_OF_BLACK_BOXES: Attacks = {
    "maxdiff-plain": [{}],
    "pgd-10": [{"restarts": 3}],
    "robust-sarsa": [{"radius": 0.05, "reg": 0.3, "lr": 3e-4, "gamma": 0.9}],
    "worst-critic": [{"explorations": EXPLORATIONS}],
    "director": [{"generations": 8}],
}
TRANSFERRED: list[AttackSettings] = [
    {"attack": "pgd-10", "restarts": 3},
    {"attack": "robust-sarsa"},
    {"attack": "director"},
]
SUITES: dict[str, dict[str, Any]] = {
    "fast-v1": {
        "about": "minutes: no training of attackers",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "attacks": {
            "none": [{}],
            "random": [{}],
            "maxdiff": [{}],
            "pgd-10": [{"restarts": 3}],
            "robust-sarsa": [{"radius": 0.05, "reg": 0.3, "lr": 3e-4, "gamma": 0.9}],
        },
    },
    "mujoco-v1": {
        "about": "the attacks of the paper on continuous control; attackers learn for 500k steps, sa-rl alone for 1M",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "attacks": {
            "none": [{}],
            "random": [{}],
            "random-corner": [{}],
            "maxdiff": [{}],
            "maxdiff-plain": [{}],
            "pgd-10": [{"restarts": 3}],
            "critic": [{}],
            "robust-sarsa": [
                *_grid(radius=(0.02, 0.05, 0.2), reg=(0.3,), lr=(3e-4, 1e-3), gamma=(0.9, 0.99)),
                {"radius": 0.3, "reg": 0.3, "lr": 3e-3, "gamma": 0.99},
            ],
            "rs-mad": _grid(weight=(1e-4, 1e-3, 1e-2, 1e-1)),
            "worst-critic": [{"explorations": EXPLORATIONS}],
            "sa-rl": _learned({**FROM_SCRATCH, "steps": 2 * BUDGET_STEPS}, GUIDED),
            "pa-ad": _learned(FROM_SCRATCH, GUIDED),
        },
    },
    "fast-v2": {
        "about": "minutes: gradient attacks, robust and worst critics, the agent's own critics, searched directors",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "finalists": 3,
        "attacks": {
            "none": [{}],
            "random-corner": [{}],
            "maxdiff-plain": [{}],
            "pgd-10": [{"restarts": 3}],
            "min-q": [{}],
            "own-worst-critic": [{}],
            "robust-sarsa": ROBUST_CRITICS,
            "worst-critic": [{"explorations": EXPLORATIONS}],
            "director": [{"generations": 8}],
        },
    },
    "mujoco-v2": {
        "about": "everything: fast-v2, thirteen robust critics, and attackers halved from six to one of each kind",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "finalists": 4,
        "rungs": [[0.2, 3], [0.5, 1]],
        "attacks": {
            "none": [{}],
            "random-corner": [{}],
            "maxdiff-plain": [{}],
            "pgd-10": [{"restarts": 3}],
            "critic": [{}],
            "min-q": [{}],
            "own-worst-critic": [{}],
            "robust-sarsa": [
                *_grid(radius=(0.02, 0.05, 0.2), reg=(0.3,), lr=(3e-4, 1e-3), gamma=(0.9, 0.99)),
                {"radius": 0.3, "reg": 0.3, "lr": 3e-3, "gamma": 0.99},
            ],
            "rs-mad": _grid(weight=(1e-4, 1e-3, 1e-2, 1e-1)),
            "worst-critic": [{"explorations": EXPLORATIONS}],
            "director": [{"generations": 8}, {"generations": 16, "population": 96}],
            "sa-rl": _learned(*POPULATION),
            "pa-ad": _learned(*POPULATION),
        },
    },
    "paper-v1": {
        "about": "the paper's attacks at its settings; of its grid of learned attackers nine each, the worst counts",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "attacks": {
            "none": [{}],
            "random": [{}],
            "maxdiff": [{}],
            "robust-sarsa": PAPER_CRITICS,
            "sa-rl": _learned(*PAPER_ATTACKERS, steps=2 * BUDGET_STEPS),
            "pa-ad": _learned(*PAPER_ATTACKERS),
        },
    },
    "black-box-v1": {
        "about": "for agents that can only be called: no gradients; those of fast-v2 are named as not run",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "finalists": 3,
        "attacks": {**NO_GRADIENTS, **NOT_OF_BLACK_BOXES},
    },
    "black-box-v2": {
        "about": "black-box-v1, and gradient attacks on a surrogate fitted to the agent's actions",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "finalists": 3,
        "attacks": {**NO_GRADIENTS, "surrogate": TRANSFERRED, **NOT_OF_BLACK_BOXES},
    },
    "atari-v1": {
        "about": "every attack on discrete actions in the paper; learned attackers trained for 500k steps each",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "attacks": {
            "none": [{}],
            "random": [{}],
            "pgd-10": [{}],
            "pgd-50": [{}],
            "minbest": [{}],
            "maxdiff-kl": [{}],
            "pa-ad": _learned(*DIRECTORS),
        },
    },
    "atari-v2": {
        "about": "discrete actions: gradient attacks, the agent's own Q, directors; critics where it sees no images",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "finalists": 3,
        "rungs": [[0.2, 1]],
        "attacks": {
            "none": [{}],
            "random-corner": [{}],
            "pgd-10": [{"restarts": 3}],
            "pgd-50": [{}],
            "minbest-10": [{}],
            "maxdiff-kl": [{}],
            "min-q": [TARGETED],
            "own-worst-critic": [TARGETED],
            "robust-sarsa": [{**critic, **TARGETED} for critic in ROBUST_CRITICS],
            "worst-critic": [{"explorations": EXPLORATIONS, **TARGETED}],
            "pa-ad": _learned(*DIRECTORS),
        },
    },
    "sensors-v1": SENSORS_V1,
}
_MUJOCO_V2 = SUITES["mujoco-v2"]
SUITES["mujoco-v3"] = {
    **_MUJOCO_V2,
    "about": "mujoco-v2, and attacks chosen anew every five steps on copies of the simulator",
    "attacks": {**_MUJOCO_V2["attacks"], "lookahead": [{"explorations": EXPLORATIONS}]},
}
