#!/usr/bin/env bash
# The trainings and audits behind results/evidence: PPO, SA-PPO and WocaR-PPO on Hopper and HalfCheetah, seeds 0 to 2, 2M steps.
# About three hours on two cores, two runs at a time; killed and started again, it goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p runs/evidence results/evidence

one() {
  local method=$1 task=$2 seed=$3 name="$1-$2-s$3" resume=()
  [ -f "results/evidence/$name.json" ] && return
  [ -f "runs/evidence/$name/run.json" ] && resume=(--resume)
  .venv/bin/wocar train "$method" --preset paper --env "$task-v4" --seed "$seed" --steps 2_000_000 --threads 1 \
    --out "runs/evidence/$name" "${resume[@]}"
  .venv/bin/wocar audit "runs/evidence/$name" --attacks none,random,maxdiff --json "results/evidence/$name.json"
}
export -f one

for seed in 0 1 2; do for task in Hopper HalfCheetah; do for method in ppo sa-ppo wocar-ppo; do
  echo "$method $task $seed"
done; done; done | xargs -P 2 -L 1 bash -c 'one "$@"' _
.venv/bin/python scripts/evidence_table.py
