from wocar.rollout import Collector, Rollout

__all__ = ["Collector", "Rollout"]
