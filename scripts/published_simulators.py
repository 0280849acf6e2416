"""The published agents' natural returns on MuJoCo's batch and on EnvPool, 50 episodes each: does the simulator matter?

WOCAR_PUBLISHED_AGENTS names their folder. Writes results/published/simulators.json.
"""

import functools
import os
from importlib.metadata import version
from pathlib import Path

from wocar.envs import make_env
from wocar.evaluation import episodes
from wocar.evaluation.statistics import summarise
from wocar.files import write_json
from wocar.loading import load
from wocar.types import UserError

EPISODES, SEED = 50, 1234
ENVS = {"hopper": "Hopper-v4", "walker": "Walker2d-v4", "halfcheetah": "HalfCheetah-v4"}

folder = Path(os.environ.get("WOCAR_PUBLISHED_AGENTS", "../shared/agents"))
rows = {}
for file in sorted(folder.glob("*.model")):
    task = next((env for name, env in ENVS.items() if name in file.stem), None)
    if task is None or file.stem.startswith("attack-"):
        continue
    try:
        agent = load(file, env=task)
    except UserError as error:
        print(f"{file.stem}: {error}")
        continue
    row = {}
    for backend in ("mujoco", "envpool"):
        episodes.make_env = functools.partial(make_env, backend=backend)
        done = summarise(episodes.run_episodes(agent, EPISODES, SEED, n_envs=25).returns)
        row[backend] = {"mean": done.mean, "std": done.std, "interval": [done.low, done.high]}
    apart = row["mujoco"]["interval"][0] > row["envpool"]["interval"][1] or (
        row["envpool"]["interval"][0] > row["mujoco"]["interval"][1]
    )
    rows[file.stem] = {"env": task, **row, "intervals overlap": not apart}
    print(
        file.stem, *(f"{backend} {row[backend]['mean']:.0f} ± {row[backend]['std']:.0f}" for backend in row), flush=True
    )
made = {"episodes": EPISODES, "seed": SEED, "mujoco": version("mujoco"), "envpool": version("envpool")}
write_json(Path("results/published/simulators.json"), {**made, "agents": rows})
