#!/usr/bin/env bash
# The trainings and audits behind results/baselines: every method with continuous actions on HalfCheetah-v4, 1M steps of the agent, seed 0.
# Where an adversary learns too, its steps come on top and are counted: 2M. About two hours on one core; killed and started again, it goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p runs/baselines results/baselines
export XLA_FLAGS="${XLA_FLAGS:---xla_cpu_multi_thread_eigen=false}" # networks this small lose time to threads
wocar=${WOCAR:-.venv/bin/wocar}

one() {
  local method=$1 steps=$2 name="$1-HalfCheetah-s0" resume=()
  [ -f "results/baselines/$name.json" ] && return
  [ -f "runs/baselines/$name/run.json" ] && resume=(--resume)
  $wocar train "$method" --preset paper --env HalfCheetah-v4 --seed 0 --steps "$steps" --threads 1 --out "runs/baselines/$name" "${resume[@]}"
  $wocar audit "runs/baselines/$name" --suite fast-v1 --json "results/baselines/$name.json"
}

for method in ppo radial-ppo car-ppo sa-ppo sa-ppo-w wocar-ppo; do one "$method" 1_000_000; done
one atla-ppo 2_000_000
for method in lstm-ppo wocar-lstm-ppo; do one "$method" 1_000_000; done
for method in pa-atla-ppo atla-lstm-sa-ppo; do one "$method" 2_000_000; done
${PYTHON:-.venv/bin/python} scripts/baselines_table.py
