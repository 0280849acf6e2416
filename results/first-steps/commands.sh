#!/bin/sh
# The outputs that README.md and the tutorials show; needs stable-baselines3 (make oracle). Then make tables.
# Progress goes to the terminal; flags and the closing lines belong to the output.
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p runs/first-steps && cd runs/first-steps
export COLUMNS=100
[ -e ppo-CartPole-v1.zip ] || python "$here/train_sb3.py" ppo-CartPole-v1.zip
attacks=none,random-corner,pgd-10,robust-sarsa
kept() { tee all.txt | grep -v 'episodes/s\|steps/s\|parts are kept\|wocar: after [0-9]' | sed 's/[[:space:]]*$//' > "$here/$1"; }
wocar audit zoo:Hopper-v4/wocar-sac --attacks none,maxdiff-plain,director --episodes 8 2>&1 | kept audit-zoo.txt
wocar audit ppo-CartPole-v1.zip --eps 0.2 --attacks $attacks --episodes 20 2>&1 | kept audit-sb3.txt
wocar harden ppo-CartPole-v1.zip --eps 0.2 --attacks $attacks --episodes 20 --out hardened \
  --json "$here/harden-CartPole.json" 2>&1 | kept harden.txt
