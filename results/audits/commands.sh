#!/bin/sh
# After scripts/evidence.sh has trained the agents: sh results/audits/commands.sh (hours)
set -e
for name in ppo-HalfCheetah-s1 ppo-Hopper-s0 sa-ppo-HalfCheetah-s2 sa-ppo-Hopper-s0 wocar-ppo-HalfCheetah-s2 wocar-ppo-Hopper-s0; do
  wocar audit "runs/evidence/$name" --suite mujoco-v1 --budget-steps 250000 --json "results/audits/$name.json"
done
python scripts/audits_table.py
