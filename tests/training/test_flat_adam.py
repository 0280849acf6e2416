"""Adam over one vector: the same steps as Optax's over each array."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from wocar.training.flat_adam import FlatAdam


def test_steps_equal_optax() -> None:
    start = {"w": jax.random.normal(jax.random.key(0), (3, 4)), "b": jnp.ones(4)}

    def loss(p: dict[str, jax.Array]) -> jax.Array:
        return jnp.sum((p["w"] ** 2) @ p["b"]) + jnp.sum(jnp.sin(p["b"]))

    ours, flat = start, FlatAdam()
    state = flat.init(start)
    theirs, oracle = start, optax.adam(1e-2)
    other = oracle.init(start)
    for _ in range(5):
        ours, state, (value, more) = flat.descend(lambda p: (loss(p), "more"), ours, state, 1e-2)
        updates, other = oracle.update(jax.grad(loss)(theirs), other)
        theirs = optax.apply_updates(theirs, updates)
    assert more == "more" and float(value) != float(loss(ours))
    for name in start:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-5)
