"""Ratios of `make bench`: what stays comparable where the machine is noisy, each with what is asked of it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Ratio:
    name: str
    above: str
    below: str
    """Names of the two measurements."""
    asked: float | None = None
    side: Literal["least", "most"] = "least"
    """Whether `asked` is the least or the most that the ratio should be."""

    def of(self, medians: dict[str, float]) -> float | None:
        """None where one of the two was not measured."""
        if self.above not in medians or self.below not in medians:
            return None
        return medians[self.above] / medians[self.below]

    def met(self, value: float) -> bool | None:
        if self.asked is None:
            return None
        return value >= self.asked if self.side == "least" else value <= self.asked

    @property
    def wish(self) -> str:
        return "" if self.asked is None else f"{'>=' if self.side == 'least' else '<='} {self.asked:g}"


def rate(what: str, env: str) -> str:
    return f"{what} {env} steps/s"


MUJOCO = ("Hopper-v4", "HalfCheetah-v4", "Walker2d-v4")
TRAINED = MUJOCO[:2]
RECURRENT = ("wocar-lstm-ppo", "atla-lstm-sa-ppo")
METHODS = ("ppo", "sa-ppo", "wocar-ppo", "radial-ppo", "atla-ppo", "pa-atla-ppo", "lstm-ppo", *RECURRENT)
ATTACKERS = ("sa-rl", "pa-ad")
WOCAR_TIME = {"wocar-ppo": 1.35}
DQN_TASKS = ("CartPole-v1", "Pong-v5")

RATIOS: tuple[Ratio, ...] = (
    *(Ratio(f"simulator / EnvPool, {e}", rate("simulator", e), rate("envpool", e), 1.35) for e in MUJOCO),
    *(Ratio(f"ppo / simulator, {e}", rate("ppo", e), rate("simulator", e), 0.65) for e in TRAINED),
    *(Ratio(f"ppo / Stable-Baselines3 ppo, {e}", rate("ppo", e), rate("sb3 ppo", e), 7.0) for e in TRAINED),
    *(
        Ratio(f"{m} time / ppo time, {e}", rate("ppo", e), rate(m, e), WOCAR_TIME.get(m), "most")
        for m in METHODS[1:]
        for e in TRAINED
    ),
    *(
        Ratio(f"{m} time / lstm-ppo time, {e}", rate("lstm-ppo", e), rate(m, e), side="most")
        for m in RECURRENT
        for e in TRAINED[:1]
    ),
    *(Ratio(f"{a} / ppo, {e}", rate(a, e), rate("ppo", e)) for a in ATTACKERS for e in TRAINED[:1]),
    Ratio("maxdiff audit / natural audit", "maxdiff audit s", "natural audit s", 3.0, "most"),
    Ratio("wocar-dqn update / dqn update, Pong-v5", "wocar-dqn update ms", "dqn update ms", 3.0, "most"),
    *(Ratio(f"dqn / Stable-Baselines3 dqn, {e}", rate("dqn", e), rate("sb3 dqn", e)) for e in DQN_TASKS),
    Ratio("sac updates / Stable-Baselines3 sac updates", "sac updates/s", "sb3 sac updates/s", 3.0),
    Ratio("wocar-sac update / sac update", "sac updates/s", "wocar-sac updates/s", 2.5, "most"),
)


def ratios_of(medians: dict[str, float]) -> dict[str, dict[str, float | str | bool]]:
    """Each ratio that was measured: its value, what is asked of it, whether it is met."""
    found: dict[str, dict[str, float | str | bool]] = {}
    for ratio in RATIOS:
        value = ratio.of(medians)
        if value is None:
            continue
        met = ratio.met(value)
        found[ratio.name] = {"value": value} if met is None else {"value": value, "asked": ratio.wish, "met": met}
    return found
