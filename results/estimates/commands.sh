#!/bin/sh
# After scripts/evidence.sh has trained the agents: sh results/estimates/commands.sh
set -e
for name in wocar-ppo-HalfCheetah-s0 wocar-ppo-HalfCheetah-s2 wocar-ppo-Hopper-s0; do
  wocar estimate "runs/evidence/$name" --no-quick --json "results/estimates/$name.json"
done
