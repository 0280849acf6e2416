#!/bin/sh
# An agent of Stable-Baselines3 on Hopper, hardened. Needs stable-baselines3; the agent is written to the folder.
set -e
[ -e sb3-ppo-Hopper-v5.zip ] || python results/harden/train_sb3.py
wocar harden sb3-ppo-Hopper-v5.zip --eps 0.075 --out runs/harden/hopper --json results/harden/hopper.json
