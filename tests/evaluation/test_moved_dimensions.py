"""Moved dimensions by hand, and in an audit."""

import numpy as np
import pytest

from wocar.bounds import Ball
from wocar.evaluation.moved_dimensions import MOST, MovedDimensions


def test_means_by_hand() -> None:
    """Two batches: one dimension pushed one way, one both ways, one that cannot be moved."""
    moved = MovedDimensions()
    z = np.ones((2, 3))
    moved.add(z, z + np.array([[0.5, 0.25, 0], [0.5, -0.25, 0]]))
    moved.add(z[:1], z[:1] + np.array([[0.5, 0, 0]]))
    found = moved.result(Ball(0.5, "linf", scale=np.array([1.0, 0.5, 0.0])))
    assert found is not None
    assert found["mean"] == pytest.approx([1, 0, 0]) and found["size"] == pytest.approx([1, 2 / 3, 0], abs=1e-3)


@pytest.mark.parametrize("shape", [(2, MOST + 1), (2, 4, 4)])
def test_long_vectors_and_images_are_left_out(shape: tuple[int, ...]) -> None:
    moved = MovedDimensions()
    moved.add(np.zeros(shape), np.ones(shape))
    assert moved.result(Ball(1.0)) is None
