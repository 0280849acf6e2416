"""Scales of a reproduction: the paper's own size, an evening on two cores, or seconds for a test."""

from dataclasses import dataclass

from wocar.methods.presets import default_config
from wocar.methods.registry import find_method
from wocar.methods.tasks import kind_of, sweep_radii, task_of
from wocar.reproduce.commands import AuditSettings, EstimateSettings
from wocar.reproduce.paper_numbers import EFFICIENCY

HOPPER, WALKER, CHEETAH, ANT = "Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Ant-v4"
MUJOCO = (HOPPER, WALKER, CHEETAH, ANT)
ATARI = ("Pong-v5", "Freeway-v5", "BankHeist-v5", "RoadRunner-v5")
"""As in the paper's DQN experiments: one frame, no stack."""
STAND_IN = "GoHomeDiscrete-v0"
"""Replaces Atari games in tests."""
FEW = ("ppo", "sa-ppo", "atla-ppo", "wocar-ppo", "a2c", "wocar-a2c", "dqn", "wocar-dqn", "sac", "wocar-sac")
SAC_BEGINS = 5_000
"""Steps before SAC learns; a test has some after them."""
MUJOCO_ATTACKS = ("none", "random", "maxdiff", "robust-sarsa", "sa-rl", "pa-ad")
ATARI_ATTACKS = ("none", "pgd-10", "minbest", "pa-ad")


@dataclass(frozen=True)
class EvidenceScale:
    """How large the plan `evidence` is."""

    tasks: dict[str, int]
    """Tasks by priority, each with its number of seeds."""
    games: dict[str, int]
    audit: AuditSettings
    ablations: bool
    """Whether the ablations on Hopper are run."""


@dataclass(frozen=True)
class Scale:
    name: str
    about: str
    mujoco: tuple[str, ...]
    """Tasks that are run, of those in the paper."""
    atari: tuple[str, ...]
    a2c: str
    """The game of the A2C table."""
    methods: tuple[str, ...] | None
    """Those that are run; None: all."""
    atla: str
    """What trains the row ATLA-PPO: the paper's is with LSTMs and a regulariser."""
    game_preset: str
    """Of trainings on games, where the method has it."""
    seeds: int
    atari_seeds: int
    steps: float
    """Share of the paper's steps where at most 1, else steps."""
    most_steps: int | None
    """Limit of an agent's own steps; those of its adversary come on top."""
    atari_steps: int
    checkpoints: int
    """Number of checkpoints that are evaluated during training."""
    episodes: int
    audit: AuditSettings
    """How the agents of a table are attacked."""
    atari_audit: AuditSettings
    sweep: AuditSettings
    """How they are attacked at several radii."""
    curve: AuditSettings
    """How they are attacked at each checkpoint."""
    estimate: EstimateSettings
    evidence: EvidenceScale
    kappas: tuple[float, ...]
    """Weights of the worst-attack value, beside the preset's."""
    radii: int
    """How many of the paper's radii are used."""
    tasks_each: int
    """Tasks that one process runs before a new one replaces it."""

    def trained_by(self, row: str) -> str:
        """The method that trains the agents of a row."""
        return self.atla if row == "atla-ppo" else row

    def train_steps(self, method: str, env: str, row: str = "") -> int:
        """Environment steps of a training of a method for a row of the paper's tables, by default its own."""
        if discrete(env):
            return self.atari_steps
        if self.steps > 1:
            return int(self.steps)
        steps = round(self.steps * paper_steps(row or method, env)) * sides(method)
        return min(steps, (self.most_steps or steps) * sides(method))

    def same_steps(self, row: str, env: str) -> int:
        """Those of tab:mujoco_app_less: an agent's own steps, beside which its adversary's are not counted there."""
        return self.train_steps("wocar-ppo", env) * (sides(self.trained_by(row)) if self.steps <= 1 else 1)

    def evidence_steps(self, row: str, env: str, preset: str = "") -> int:
        """Those of other plans; of SAC's methods and of the preset `robust` the preset's own.

        Below scale `paper` SAC's methods have at most WocaR-SAC's steps, and `robust` those of other plans.
        """
        method = self.trained_by(row)
        usual, sac = self.train_steps(method, env, row), find_method(method).algorithm.kind == "sac"
        if self.steps > 1:
            return SAC_BEGINS + usual // 16 if sac else usual
        if not (sac or preset):
            return usual
        own = default_config(method, env, preset or None).steps
        return own if self.steps == 1 else min(own, default_config("wocar-sac", env).steps if sac else usual)

    def sweep_radii(self, env: str) -> tuple[float, ...]:
        radii = sweep_radii(env)
        step = (len(radii) - 1) / max(self.radii - 1, 1)
        return tuple(radii[round(i * step)] for i in range(min(self.radii, len(radii))))


def game(env: str) -> bool:
    """Whether it is an Atari game."""
    return kind_of(env) == "game"


def discrete(env: str) -> bool:
    return game(env) or env == STAND_IN


def paper_steps(row: str, env: str) -> int:
    """An agent's own, as in the table `efficiency`; Walker2d and HalfCheetah as Hopper, rows not in it as SA-PPO."""
    table = EFFICIENCY.get(task_of(env), EFFICIENCY["Hopper"])
    _, millions = table.get(row, table["sa-ppo"])
    return round(1e6 * millions)


def sides(method: str) -> int:
    """Who takes steps: an adversary that learns too takes as many as the agent."""
    return 2 if find_method(method).adversary else 1


SCALES: dict[str, Scale] = {
    "smoke": Scale(
        name="smoke",
        about="a test that everything runs; the numbers mean nothing",
        mujoco=(HOPPER,),
        atari=(STAND_IN,),
        a2c=STAND_IN,
        methods=FEW,
        atla="atla-ppo",
        game_preset="paper",
        seeds=1,
        atari_seeds=1,
        steps=4096,
        most_steps=None,
        atari_steps=2048,
        checkpoints=2,
        episodes=1,
        audit=AuditSettings(("none", "random", "maxdiff", "sa-rl"), budget_steps=2048),
        atari_audit=AuditSettings(("none", "pgd-10", "pa-ad"), budget_steps=2048),
        sweep=AuditSettings(("none", "maxdiff")),
        curve=AuditSettings(("none", "maxdiff")),
        estimate=EstimateSettings(steps=256, sweeps=2, explorations=0),
        evidence=EvidenceScale({HOPPER: 1}, {STAND_IN: 1}, AuditSettings(("none", "maxdiff")), ablations=False),
        kappas=(0.0,),
        radii=2,
        tasks_each=1000,
    ),
    "small": Scale(
        name="small",
        about="an evening on two cores: a million steps of each agent on MuJoCo, fewer tasks, seeds and attackers",
        mujoco=(HOPPER, CHEETAH),
        atari=("Pong-stack2-v5",),
        a2c="BankHeist-stack4-v5",
        methods=None,
        atla="atla-ppo",
        game_preset="small",
        seeds=2,
        atari_seeds=1,
        steps=0.5,
        most_steps=1_000_000,
        atari_steps=800_000,
        checkpoints=5,
        episodes=50,
        audit=AuditSettings(MUJOCO_ATTACKS, budget_steps=300_000),
        atari_audit=AuditSettings(ATARI_ATTACKS, budget_steps=300_000),
        sweep=AuditSettings(("none", "maxdiff", "robust-sarsa", "pa-ad"), budget_steps=200_000),
        curve=AuditSettings(("none", "maxdiff", "robust-sarsa", "pa-ad"), budget_steps=50_000),
        estimate=EstimateSettings(),
        evidence=EvidenceScale(
            {HOPPER: 3, CHEETAH: 3, WALKER: 1},
            {"Pong-stack2-v5": 1, "Freeway-v5": 1},
            AuditSettings(suite="fast-v2"),
            ablations=True,
        ),
        kappas=(0.0, 0.4, 1.0),
        radii=3,
        tasks_each=1,
    ),
    "paper": Scale(
        name="paper",
        about="the paper's tasks, steps and number of agents",
        mujoco=MUJOCO,
        atari=ATARI,
        a2c="BankHeist-stack4-v5",
        methods=None,
        atla="atla-lstm-sa-ppo",
        game_preset="paper",
        seeds=30,
        atari_seeds=10,
        steps=1.0,
        most_steps=None,
        atari_steps=6_000_000,
        checkpoints=24,
        episodes=50,
        audit=AuditSettings(suite="mujoco-v1"),
        atari_audit=AuditSettings(suite="atari-v1"),
        sweep=AuditSettings(("none", "robust-sarsa", "sa-rl", "pa-ad"), budget_steps=1_000_000),
        curve=AuditSettings(("none", "maxdiff", "robust-sarsa", "sa-rl", "pa-ad"), budget_steps=200_000),
        estimate=EstimateSettings(),
        evidence=EvidenceScale(
            {HOPPER: 5, CHEETAH: 5, WALKER: 3, ANT: 1},
            {"Pong-v5": 3, "Freeway-v5": 3, "BankHeist-v5": 1, "RoadRunner-v5": 1},
            AuditSettings(suite="mujoco-v2"),
            ablations=True,
        ),
        kappas=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9, 1.0),
        radii=6,
        tasks_each=1,
    ),
}
