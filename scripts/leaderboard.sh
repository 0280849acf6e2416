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
what_works() {  # PATTERN NAME ABOUT, of results/what-works/PATTERN-sSEED.json
  for file in results/what-works/$1-s*.json; do
    [ -f "$file" ] || continue
    name=$(basename "$file" .json)
    add "$file" --name "$2-${name##*-}" --about "$3"
  done
}
what_works "Ant-wocar-ppo" wocar-ppo-robust "preset robust"
what_works "Hopper-wocar-ppo-long" wocar-ppo-long "preset robust"
what_works "Hopper-sa-ppo-long" sa-ppo-long "preset robust"
what_works "Walker2d-wocar-ppo-hunts" wocar-ppo-hunts "preset robust"
what_works "Walker2d-wocar-ppo-long" wocar-ppo-long "large minibatches, pushes, long hunts"
what_works "HalfCheetah-wocar-ppo-4M" wocar-ppo-4M "preset robust"
what_works "HalfCheetah-sa-ppo-4M" sa-ppo-4M "preset robust"
what_works "Hopper-wocar-ppo-pushes" wocar-ppo-pushes "no long hunts"
what_works "Walker2d-wocar-ppo-pushes" wocar-ppo-pushes "large minibatches, pushes"
what_works "Hopper-wocar-ppo-hunts" wocar-ppo-hunts "no pushes"
what_works "HalfCheetah-wocar-ppo" wocar-ppo-robust "no large minibatches, no hunts"
what_works "Hopper-wocar-ppo" wocar-ppo-robust "no cap, no hunts"
what_works "Hopper-wocar-ppo-2M" wocar-ppo-robust-2M "no cap, no hunts"
for file in results/matrix/*-s*.json; do  # METHOD[-small]-TASK-sSEED
  name=$(basename "$file" .json)
  case $name in *-small-*) preset=small ;; *) preset=paper ;; esac
  method=${name%%-small-*}
  method=${method%%-[A-Z]*}
  add "$file" --name "$method-$preset-${name##*-}" --about "preset $preset"
done
for name in ppo-halfcheetah sappo-convex-halfcheetah ppo-walker atla-lstm-sappo-walker; do
  [ -f "results/published/$name-fast-v2.json" ] || add "results/published/$name.json"
done
for file in results/published/*-fast-v2.json; do
  older=results/published/$(basename "$file" -fast-v2.json)
  also=()
  for other in "$older.json" "$older-mujoco-v2.json" "$older-lookahead.json"; do [ -f "$other" ] && also+=("$other"); done
  add "$file" "${also[@]}"
done
