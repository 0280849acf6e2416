"""Projected ascent, optionally with Langevin noise: the solver of every inner problem."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from equinox import nn

from wocar.bounds.ball import Ball
from wocar.bounds.lstm import HeldNetwork
from wocar.types import Array, Interval

InputObjective = Callable[[Array], Array]
StepSizes = Callable[[Array], Array]


def ascend(
    objective: InputObjective,
    start: Array,
    project: Callable[[Array], Array],
    *,
    steps: int,
    step_size: float | Array | StepSizes,
    direction: Callable[[Array], Array] = jnp.sign,
    key: jax.Array | None = None,
    temperature: float | Array = 1.0,
    keep_best: bool = False,
) -> Array:
    """x <- project(x + step * direction(gradient + c_k * noise)), c_k = sqrt(2 * step * temperature) / (k + 2).

    `objective` maps (B, ...) to (B,), each row by itself. `step_size` broadcasts to x, or is a function of k >= 0.
    Without a key there is no noise. Returns the last x, or with `keep_best` the best one met, the start included.
    No gradient flows into the result.
    """

    def step(carry: tuple[Array, Array, Array], k: Array) -> tuple[tuple[Array, Array, Array], None]:
        x, best, best_value = carry
        value, pull_back = jax.vjp(objective, x)
        (gradient,) = pull_back(jnp.ones_like(value))
        size = step_size(k) if callable(step_size) else jnp.asarray(step_size)
        if key is not None:
            noise = jax.random.normal(jax.random.fold_in(key, k), x.shape)
            gradient += jnp.sqrt(2 * size * temperature) / (k + 2) * noise
        best, best_value = _better(x, value, best, best_value)
        return (project(x + size * direction(gradient)), best, best_value), None

    first = jax.lax.stop_gradient(jnp.asarray(start))
    nothing = jnp.full(len(first), -jnp.inf)
    unroll = steps if first.ndim > 2 else 1  # pixels: convolutions in a loop are ten times slower on a CPU
    (last, best, best_value), _ = jax.lax.scan(step, (first, first, nothing), jnp.arange(steps), unroll=unroll)
    if not keep_best:
        return jax.lax.stop_gradient(last)
    return jax.lax.stop_gradient(_better(last, objective(last), best, best_value)[0])


def ascend_in_ball(
    objective: InputObjective,
    ball: Ball,
    center: Array,
    start: Array,
    *,
    steps: int,
    step_size: float | Array | StepSizes | None = None,
    key: jax.Array | None = None,
    temperature: float | Array = 1.0,
    keep_best: bool = False,
) -> Array:
    """`ascend` within the ball around each state, in the steepest direction of its norm; the step is eps / steps.

    Where the gradient vanishes at the center, start beside it: `ball.scaled(1 / steps).sample_extreme(key, center)`.
    """
    return ascend(
        objective,
        start,
        lambda x: ball.project(center, x),
        steps=steps,
        step_size=ball.radius(center) / steps if step_size is None else step_size,
        direction=ball.direction,
        key=key,
        temperature=temperature,
        keep_best=keep_best,
    )


def shrinking(width: Array, steps: int) -> StepSizes:
    """Step sizes from the whole width down to 1/50 of it: ten such steps reach at least what fifty of width / 50 do."""
    return lambda k: width * 0.02 ** (k / max(steps - 1, 1))


def outputs(network: nn.Sequential | HeldNetwork, obs: Array) -> jax.Array:
    """The network at each row of a batch."""
    return jax.vmap(network)(jnp.asarray(obs)) if isinstance(network, nn.Sequential) else network(obs)


def searched_bounds(network: nn.Sequential | HeldNetwork, ball: Ball, center: Array, steps: int = 10) -> Interval:
    """The range of each output that a search inside the ball reaches: an inner bound, the true range may be wider."""
    size = jax.eval_shape(lambda x: outputs(network, x), center).shape[1]
    rows = jnp.repeat(jnp.arange(len(center)), size)
    repeated = network if isinstance(network, nn.Sequential) else network.take(rows)
    states = center[rows]
    around = eqx.tree_at(lambda b: b.eps, ball, jnp.repeat(jnp.broadcast_to(ball.eps, len(center)), size))
    chosen = jnp.tile(jnp.arange(size), len(center))

    def output(x: Array) -> Array:
        return jnp.take_along_axis(outputs(repeated, x), chosen[:, None], axis=1)[:, 0]

    def extreme(sign: int) -> Array:
        sizes = shrinking(around.radius(states), steps)
        x = ascend_in_ball(
            lambda x: sign * output(x), around, states, states, steps=steps, step_size=sizes, keep_best=True
        )
        return output(x).reshape(len(center), size)

    return Interval(extreme(-1), extreme(+1))


def _better(x: Array, value: Array, best: Array, best_value: Array) -> tuple[Array, Array]:
    improved = (value > best_value).reshape((-1,) + (1,) * (x.ndim - 1))
    return jnp.where(improved, x, best), jnp.maximum(value, best_value)
