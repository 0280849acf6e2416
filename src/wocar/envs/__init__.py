"""The only room that knows MuJoCo, Gymnasium, ALE and EnvPool."""

from wocar.envs.make import declared_observations, env_seeds, env_spec, make_env, make_gymnasium_env

__all__ = ["declared_observations", "env_seeds", "env_spec", "make_env", "make_gymnasium_env"]
