"""The two lines around an activation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wocar.activations import elu, gelu, leaky_relu, silu
from wocar.bounds.relaxation import RELAXATIONS, _touch, relu_band
from wocar.bounds.smooth_relaxation import GELU, SILU, Wave
from wocar.types import Interval

BANDS = {function: jax.jit(band) for function, band in RELAXATIONS.items()}

ends = st.floats(-30, 30)
widths = st.one_of(st.just(0.0), st.floats(1e-6, 1e-2), st.floats(1e-2, 60))


@pytest.mark.parametrize("function", RELAXATIONS, ids=lambda f: f.__name__)
@given(lower=ends, width=widths)
def test_the_function_stays_in_the_band(function, lower: float, width: float) -> None:
    lower, upper = np.float32(lower), np.float32(lower + width)
    center, margin = BANDS[function](Interval(jnp.asarray(lower), jnp.asarray(upper)))
    x = np.linspace(lower, upper, 501, dtype=np.float32)
    distance = np.abs(function(x) - (center.slope * x + center.offset))
    assert (distance <= margin.slope * x + margin.offset + 1e-5).all()


@given(lower=ends, width=st.floats(0, 1e-5))
def test_a_point_has_no_margin_and_the_tangent_as_line(lower: float, width: float) -> None:
    point = jnp.float32(lower)
    center, margin = BANDS[jnp.tanh](Interval(point, point + width))
    assert abs(center.slope - (1 - jnp.tanh(point) ** 2)) < 1e-4
    assert abs(margin.slope * point + margin.offset) < 1e-5


def test_relu_by_hand() -> None:
    """[-1, 3]: between x and (3/4)(x + 1). [-3, 1]: between 0 and (x + 3)/4. Stable neurons: exact."""
    band = relu_band(Interval(jnp.array([-1.0, -3.0, 1.0, -2.0]), jnp.array([3.0, 1.0, 2.0, -1.0])))
    below = [band.center.slope - band.margin.slope, band.center.offset - band.margin.offset]
    above = [band.center.slope + band.margin.slope, band.center.offset + band.margin.offset]
    np.testing.assert_allclose(below, [[1, 0, 1, 0], [0, 0, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(above, [[0.75, 0.25, 1, 0], [0.75, 0.75, 0, 0]], atol=1e-6)


def test_the_tangent_at_touch_meets_the_curve_again() -> None:
    """At x <= 20, where the table is fine: through (x, tanh x) to 1e-3, and never above it, however large x is."""
    x = np.concatenate([np.linspace(0.01, 20, 4001), np.geomspace(20, 1e5, 2000)]).astype(np.float32)
    point = np.asarray(_touch(jnp.asarray(x)), dtype=np.float64)
    overshoot = np.tanh(point) + (x - point) / np.cosh(point) ** 2 - np.tanh(x.astype(np.float64))
    assert overshoot.max() < 1e-5
    assert overshoot[x <= 20].min() > -1e-3


@pytest.mark.parametrize("function", RELAXATIONS, ids=lambda f: f.__name__)
def test_gradients_are_finite_and_continuous_into_a_point(function) -> None:
    """The band's value in the middle, differentiated by both ends, at widths down to 0."""

    def middle(lower: jax.Array, upper: jax.Array) -> jax.Array:
        center, margin = RELAXATIONS[function](Interval(lower, upper))
        x = (lower + upper) / 2
        return center.slope * x + center.offset + 0.5 * (margin.slope * x + margin.offset)

    at = jnp.array([-25.0, -1.0, 0.0, 0.3, 2.0, 25.0])
    for width in (0.0, 1e-7, 1e-5, 1e-3, 1e-2):
        slopes = jnp.stack(jax.vmap(jax.grad(middle, argnums=(0, 1)))(at, at + width))
        assert np.isfinite(slopes).all()
        assert (np.abs(slopes) < 2).all(), width


@pytest.mark.parametrize("wave", [SILU, GELU], ids=["silu", "gelu"])
def test_the_constants_of_a_wave(wave: Wave) -> None:
    """The derivative is 0 at the minimum, and has its own extremes at ±bend."""
    slope = jax.grad(wave.function)
    np.testing.assert_allclose(slope(wave.lowest), 0, atol=1e-6)
    np.testing.assert_allclose(jax.grad(slope)(wave.bend), 0, atol=1e-6)
    np.testing.assert_allclose(jax.grad(slope)(-wave.bend), 0, atol=1e-6)
    x = np.linspace(-8, 8, 101, dtype=np.float32)
    np.testing.assert_allclose(wave.derivative(x), jax.vmap(slope)(x), atol=1e-6)


@pytest.mark.parametrize("function", [elu, leaky_relu, silu, gelu], ids=lambda f: f.__name__)
def test_lines_around_a_smooth_relu_touch_it(function) -> None:
    """Neither line can be moved nearer without crossing the function."""
    for lower, upper in ((-6.0, 5.0), (-1.0, 0.5), (0.2, 4.0), (-9.0, -2.0), (-0.3, 9.0)):
        center, margin = RELAXATIONS[function](Interval(jnp.float32(lower), jnp.float32(upper)))
        x = np.linspace(lower, upper, 4001, dtype=np.float32)
        offset, reach = function(x) - (center.slope * x + center.offset), margin.slope * x + margin.offset
        assert (reach - offset).min() < 1e-4
        assert (reach + offset).min() < 1e-4
