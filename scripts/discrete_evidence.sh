#!/usr/bin/env bash
# The trainings and audits behind results/discrete: DQN, and WocaR-DQN going on from it, on CartPole, LunarLander and the go-home grid, seeds 0 to 2.
# Arguments: tasks, by default all three. About half an hour on two quiet cores; killed and started again, it goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p runs/discrete results/discrete
export XLA_FLAGS="${XLA_FLAGS:---xla_cpu_multi_thread_eigen=false}" # networks this small lose time to threads
wocar=${WOCAR:-.venv/bin/wocar}

one() {
  local method=$1 env=$2 eps=$3 seed=$4 name="$1-${2%-v*}-s$4" options=()
  [ -f "results/discrete/$name.json" ] && return
  [ "$method" = dqn ] || options=(--init-from "runs/discrete/dqn-${env%-v*}-s$seed")
  [ "$method" = dqn ] || [ "$env" = GoHomeGrid-v0 ] || options+=(--preset fine-tune)
  [ ! -f "runs/discrete/$name/run.json" ] || options+=(--resume)
  $wocar train "$method" --env "$env" --seed "$seed" --threads 1 --out "runs/discrete/$name" "${options[@]}"
  $wocar audit "runs/discrete/$name" --attacks none,random,pgd-10,maxdiff-kl --eps "$eps" --json "results/discrete/$name.json"
}

declare -A eps=([GoHomeGrid-v0]=0.1 [CartPole-v1]=0.0675 [LunarLander-v3]=0.025) # units of the observation
tasks=("$@")
[ $# -gt 0 ] || tasks=(GoHomeGrid-v0 CartPole-v1 LunarLander-v3)
for task in "${tasks[@]}"; do for seed in 0 1 2; do for method in dqn wocar-dqn; do
  one "$method" "$task" "${eps[$task]}" "$seed"
done; done; done
${PYTHON:-.venv/bin/python} scripts/discrete_table.py
