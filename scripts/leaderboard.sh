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
for file in results/what-works/{HalfCheetah,Ant}-wocar-ppo-s*.json; do
  name=$(basename "$file" .json)
  add "$file" --name "wocar-ppo-robust-${name##*-}" --about "preset robust"
done
for name in Hopper-wocar-ppo-s0 Hopper-wocar-ppo-2M-s0; do
  short=${name#*-wocar-ppo-}
  add "results/what-works/$name.json" --name "wocar-ppo-robust-$short" --about "no cap, no hunts"
done
for file in results/what-works/*-wocar-ppo-hunts-s*.json; do
  name=$(basename "$file" .json)
  add "$file" --name "wocar-ppo-hunts-${name##*-}" --about "cap and hunts"
done
for method in sa-ppo wocar-ppo; do
  for file in results/what-works/*-"$method"-pushes-s*.json; do
    [ -f "$file" ] || continue
    name=$(basename "$file" .json)
    add "$file" --name "$method-pushes-${name##*-}" --about "cap, hunts and pushes"
  done
done
for file in results/matrix/*-s*.json; do  # METHOD[-small]-TASK-sSEED
  name=$(basename "$file" .json)
  case $name in *-small-*) preset=small ;; *) preset=paper ;; esac
  method=${name%%-small-*}
  method=${method%%-[A-Z]*}
  add "$file" --name "$method-$preset-${name##*-}" --about "preset $preset"
done
for file in results/published/*-fast-v2.json; do
  older=results/published/$(basename "$file" -fast-v2.json)
  also=()
  for other in "$older.json" "$older-mujoco-v2.json"; do [ -f "$other" ] && also+=("$other"); done
  add "$file" "${also[@]}"
done
