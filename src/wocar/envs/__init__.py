"""The only room that knows EnvPool, Gymnasium and ALE."""

from wocar.envs.make import env_seeds, env_spec, make_env, make_gymnasium_env

__all__ = ["env_seeds", "env_spec", "make_env", "make_gymnasium_env"]
