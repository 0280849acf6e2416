#!/bin/sh
# Trains and audits WocaR-SAC: sh results/robust-sac/commands.sh Hopper 0 1 2
set -e
task=$1; shift
for seed in "$@"; do
  wocar train wocar-sac --env "$task-v4" --seed "$seed" --threads 1 --out "runs/robust-sac/$task-s$seed"
  wocar audit "runs/robust-sac/$task-s$seed" --suite fast-v2 --episodes 20 --json "results/robust-sac/$task-s$seed.json"
done
