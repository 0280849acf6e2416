#!/usr/bin/env bash
# Audits of the published agents (files of the ATLA release; not part of this repository) by mujoco-v1 and by their own published adversaries,
# then one table beside the published numbers. WOCAR_PUBLISHED_AGENTS names their folder. Finished parts are kept: started again, it goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
agents=${WOCAR_PUBLISHED_AGENTS:-../shared/agents}
mkdir -p runs/published results/published

audit() {  # NAME ENV WHAT [ATTACK FILE]
  local name=$1 env=$2 what=$3 attackers=()
  [ -d "runs/published/$name" ] || .venv/bin/wocar import "$agents/model-$name.model" --env "$env" --out "runs/published/$name"
  if [ -n "${4:-}" ]; then
    [ -d "runs/published/$4" ] || .venv/bin/wocar import "$agents/$4.model" --env "$env" --out "runs/published/$4"
    attackers=(--attackers "runs/published/$4/adversary")
  fi
  # shellcheck disable=SC2086
  .venv/bin/wocar audit "runs/published/$name" $what "${attackers[@]}" --json "results/published/$name.json"
}

audit ppo-halfcheetah HalfCheetah-v4 "--suite mujoco-v1" attack-ppo-halfcheetah
audit sappo-convex-halfcheetah HalfCheetah-v4 "--suite mujoco-v1" attack-sappo-convex-halfcheetah
audit ppo-walker Walker2d-v4 "--attacks none,random,maxdiff" attack-ppo-walker
audit atla-lstm-sappo-walker Walker2d-v4 "--attacks none,random,maxdiff"
.venv/bin/python scripts/published_table.py --json results/published/printed.json
