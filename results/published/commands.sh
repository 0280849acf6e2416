#!/bin/sh
# Needs the published files: WOCAR_PUBLISHED_AGENTS=FOLDER sh results/published/commands.sh (hours)
set -e
agents=${WOCAR_PUBLISHED_AGENTS:-../shared/agents}
scripts/published_agents.sh
.venv/bin/python scripts/published_simulators.py
wocar import "$agents/wocar-hopper.model" --env Hopper-v4 --out runs/published/wocar-hopper
wocar audit runs/published/wocar-hopper --suite fast-v2 --json results/published/wocar-hopper-fast-v2.json
wocar import "$agents/wocarmlp-halfcheetah.model" --env HalfCheetah-v4 --out runs/published/wocar-halfcheetah
wocar audit runs/published/wocar-halfcheetah --suite fast-v2 --json results/published/wocar-halfcheetah-fast-v2.json
wocar audit runs/published/wocar-halfcheetah --attacks none,lookahead --episodes 20 \
  --json results/published/wocar-halfcheetah-lookahead.json
wocar audit runs/published/wocar-hopper --suite mujoco-v2 --json results/published/wocar-hopper-mujoco-v2.json
