#!/usr/bin/env bash
# The trainings and audits of this folder. Arguments: tasks, by default all three; SEEDS names seeds, by default 0 1 2.
# About an hour on two quiet cores; killed and started again, it goes on.
set -euo pipefail
cd "$(dirname "$0")/../.."
wocar=${WOCAR:-.venv/bin/wocar} here=results/sa-dqn-control
export XLA_FLAGS="${XLA_FLAGS:---xla_cpu_multi_thread_eigen=false}"

one() {
  local kind=$1 env=$2 eps=$3 seed=$4 name="$1-${2%-v*}-s$4" method=wocar-dqn options=()
  [ -f "$here/$name.json" ] && return
  [ "$kind" = dqn ] || options=(--init-from "runs/dqn-${env%-v*}-s$seed")
  [ "$kind" = dqn ] || [ "$env" = GoHomeGrid-v0 ] || options+=(--preset fine-tune)
  case $kind in
    dqn | sa-dqn) method=$kind ;;
    values) options+=(--kappa-wst 0) ;;
    shares) options+=(--reg-share 0.25 --worst-share 0.25) ;;
  esac
  [ ! -f "runs/$name/run.json" ] || options+=(--resume)
  [ -d "runs/$name/agent" ] ||
    $wocar train "$method" --env "$env" --threads 1 --out "runs/$name" --seed "$seed" "${options[@]}"
  $wocar audit "runs/$name" --attacks none,pgd-10 --eps "$eps" --json "$here/$name.json"
}

declare -A eps=([GoHomeGrid-v0]=0.1 [CartPole-v1]=0.0675 [LunarLander-v3]=0.025) # units of the observation
tasks=("$@")
[ $# -gt 0 ] || tasks=(CartPole-v1 GoHomeGrid-v0 LunarLander-v3)
for task in "${tasks[@]}"; do for seed in ${SEEDS:-0 1 2}; do for kind in dqn wocar-dqn values shares sa-dqn; do
  one "$kind" "$task" "${eps[$task]}" "$seed"
done; done; done
${PYTHON:-.venv/bin/python} scripts/discrete_table.py $here
