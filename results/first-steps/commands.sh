#!/bin/sh
# The outputs that README.md and the tutorials show; then make tables. The second needs stable-baselines3 (make oracle):
# its agent is that of results/harden. The third, wocar harden, is results/harden itself. Progress is left out.
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p runs/first-steps && cd runs/first-steps
export COLUMNS=100
kept() { grep -v '\[[0-9,]*/[0-9,]*\|parts were kept' | sed 's/[[:space:]]*$//' > "$here/$1"; }
wocar audit zoo:Hopper-v4/wocar-sac --attacks none,maxdiff-plain,director --episodes 8 2>&1 | kept audit-zoo.txt
[ -e sb3-ppo-Hopper-v5.zip ] || python "$here/../harden/train_sb3.py"
wocar audit sb3-ppo-Hopper-v5.zip --eps 0.075 --attacks none,maxdiff-plain,robust-sarsa,director --episodes 8 2>&1 |
  kept audit-sb3.txt
