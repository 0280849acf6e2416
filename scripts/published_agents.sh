#!/usr/bin/env bash
# Audits of the published agents (files of the ATLA release; not part of this repository) without attack, under random noise, under MaxDiff and
# under their own published adversaries. WOCAR_PUBLISHED_AGENTS names their folder. Finished parts are kept: started again, it goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
agents=${WOCAR_PUBLISHED_AGENTS:-../shared/agents}
mkdir -p runs/published results/published

audit() {  # NAME ENV [ATTACK FILE]
  local name=$1 env=$2 attackers=()
  [ -d "runs/published/$name" ] || .venv/bin/wocar import "$agents/model-$name.model" --env "$env" --out "runs/published/$name"
  if [ -n "${3:-}" ]; then
    [ -d "runs/published/$3" ] || .venv/bin/wocar import "$agents/$3.model" --env "$env" --out "runs/published/$3"
    attackers=(--attackers "runs/published/$3/adversary")
  fi
  .venv/bin/wocar audit "runs/published/$name" --attacks none,random,maxdiff "${attackers[@]}" --json "results/published/$name.json"
}

audit ppo-halfcheetah HalfCheetah-v4 attack-ppo-halfcheetah
audit sappo-convex-halfcheetah HalfCheetah-v4 attack-sappo-convex-halfcheetah
audit ppo-walker Walker2d-v4 attack-ppo-walker
audit atla-lstm-sappo-walker Walker2d-v4
