#!/usr/bin/env bash
# Writes every entry of leaderboard/ anew from the committed audits.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
add() { "$python" scripts/leaderboard_add.py "$@" --also results/strongest; }

for file in results/audits/*.json; do add "$file"; done
for file in results/robust-sac/no-hunts/*-s*.json; do add "$file" --about "no hunts"; done
for file in results/robust-sac/*-s*.json; do
  name=$(basename "$file" .json)
  add "$file" --name "wocar-sac-hunts-${name#*-}" --about "with hunts"
done
for file in results/robust-sac/steps-400k/*-s*.json; do
  name=$(basename "$file" .json)
  add "$file" --name "wocar-sac-hunts-400k-${name#*-}" --about "with hunts"
done
for name in HalfCheetah-wocar-ppo-s{0,1,2,3,4}; do
  short=${name#*-wocar-ppo-}
  add "results/what-works/$name.json" --name "wocar-ppo-robust-$short" --about "preset robust"
done
for name in Hopper-wocar-ppo-s0 Hopper-wocar-ppo-2M-s0; do
  short=${name#*-wocar-ppo-}
  add "results/what-works/$name.json" --name "wocar-ppo-robust-$short" --about "no cap, no hunts"
done
for file in results/what-works/*-wocar-ppo-hunts-s*.json; do
  name=$(basename "$file" .json)
  add "$file" --name "wocar-ppo-hunts-${name##*-}" --about "cap and hunts"
done
for name in ppo-halfcheetah sappo-convex-halfcheetah ppo-walker atla-lstm-sappo-walker; do
  add "results/published/$name.json"
done
add results/published/wocar-hopper-fast-v2.json results/published/wocar-hopper-mujoco-v2.json
