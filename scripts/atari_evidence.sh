#!/usr/bin/env bash
# The trainings and audits behind results/atari: DQN, and WocaR-DQN going on from it, on Pong and Freeway with the small network.
# Arguments: games, by default both. About four hours on two quiet cores; killed and started again, it goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p runs/atari results/atari
every_row=(--reg-share 1 --worst-share 1) # as the agents of results/atari were trained
wocar=${WOCAR:-.venv/bin/wocar}

run() {
  local name=$1 method=$2 options=("${@:3}")
  [ -d "runs/atari/$name/agent" ] && return
  [ ! -f "runs/atari/$name/run.json" ] || options+=(--resume)
  $wocar train "$method" --out "runs/atari/$name" "${options[@]}"
  mkdir -p "results/atari/curves/$name"
  cp "runs/atari/$name"/{run.json,metrics.jsonl} "results/atari/curves/$name/"
}

audit() {
  [ -f "results/atari/audit-$1.json" ] || $wocar audit "runs/atari/$1" --attacks none,random,pgd-10 \
    --eps 0.00392156862745098 --episodes 20 --json "results/atari/audit-$1.json"
}

games=("$@")
[ $# -gt 0 ] || games=(Freeway Pong)
for game in "${games[@]}"; do
  if [ "$game" = Pong ]; then
    run dqn-Pong-800k dqn --env Pong-stack2-v5 --preset small
    run dqn-Pong dqn --env Pong-stack2-v5 --preset small --init-from runs/atari/dqn-Pong-800k --steps 120000 --learning-rate 1e-4 \
      --exploration-initial-eps 0.05 --exploration-fraction 0.9 --exploration-final-eps 0.002
    run wocar-dqn-Pong wocar-dqn --env Pong-stack2-v5 --preset fine-tune --init-from runs/atari/dqn-Pong "${every_row[@]}"
  else
    run dqn-Freeway dqn --env Freeway-v5 --preset small --steps 400000
    run wocar-dqn-Freeway wocar-dqn --env Freeway-v5 --preset fine-tune --init-from runs/atari/dqn-Freeway "${every_row[@]}"
  fi
  audit "dqn-$game"
  audit "wocar-dqn-$game"
done
