"""Some environments of a vector environment as one of their own."""

import numpy as np

from wocar.types import Step, VectorEnv


class EnvSlice:
    """The `n` environments from `first` on. `opening` is what the whole showed when it was last reset."""

    def __init__(self, whole: VectorEnv, opening: np.ndarray, first: int, n: int) -> None:
        self.spec, self.n = whole.spec, n
        self._whole, self._opening = whole, opening[first : first + n]
        self._all = np.arange(first, first + n, dtype=np.int32)

    def reset(self) -> np.ndarray:
        """The opening observations: the whole has been reset already."""
        return self._opening.copy()

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step:
        return self._whole.step(actions, self._all if ids is None else self._all[ids])

    def close(self) -> None:
        """Nothing: the whole is closed by its owner."""
