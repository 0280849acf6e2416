"""The only room that knows MuJoCo, Gymnasium, ALE and EnvPool."""

from wocar.envs.aliases import full_id
from wocar.envs.checked import ActionFault, EnvironmentFault
from wocar.envs.make import (
    allow_import,
    can_copy_states,
    declared_observations,
    env_seeds,
    env_spec,
    is_flattened,
    make_env,
    make_gymnasium_env,
    takes_raw_actions,
)

__all__ = [
    "ActionFault",
    "EnvironmentFault",
    "allow_import",
    "can_copy_states",
    "declared_observations",
    "env_seeds",
    "env_spec",
    "full_id",
    "is_flattened",
    "make_env",
    "make_gymnasium_env",
    "takes_raw_actions",
]
