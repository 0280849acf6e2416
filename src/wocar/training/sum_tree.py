"""Sum tree: sampling of slots in proportion to their weights."""

import numpy as np

WIDTH = 128


class SumTree:
    """Weights of slots, their sums by blocks, and the sums of these by groups: three levels, each a NumPy row."""

    def __init__(self, size: int) -> None:
        self.leaves = np.zeros((-(-size // WIDTH**2), WIDTH, WIDTH))
        self.rebuild()

    def rebuild(self) -> None:
        """All sums from the leaves."""
        self._blocks = self.leaves.sum(axis=-1)
        self._groups = self._blocks.sum(axis=-1)

    def __getitem__(self, slots: np.ndarray) -> np.ndarray:
        return self.leaves.reshape(-1)[slots]

    def set(self, slots: np.ndarray, weights: np.ndarray | float) -> None:
        self.leaves.reshape(-1)[slots] = weights
        block = slots // WIDTH
        group = block // WIDTH
        self._blocks.reshape(-1)[block] = self.leaves.reshape(-1, WIDTH)[block].sum(axis=-1)
        self._groups[group] = self._blocks[group].sum(axis=-1)

    def draw(self, shares: np.ndarray) -> np.ndarray:
        """The slots (n,) at the shares (n,) in [0, 1) of the cumulative weight."""
        rows = np.broadcast_to(self._groups, (len(shares), len(self._groups)))
        group, rest = _pick(rows, shares * self._groups.sum())
        block, rest = _pick(self._blocks[group], rest)
        leaf, _ = _pick(self.leaves[group, block], rest)
        return (group * WIDTH + block) * WIDTH + leaf


def _pick(weights: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The index in each row (n, k) of weights at which the cumulative sum exceeds the mass (n,), and the mass left."""
    sums = np.cumsum(weights, axis=1)
    mass = np.minimum(mass, np.nextafter(sums[:, -1], 0))  # rounding must not lead past the last weight
    at = (sums <= mass[:, None]).sum(axis=1)
    rows = np.arange(len(mass))
    return at, mass - np.where(at > 0, sums[rows, at - 1], 0.0)
