#!/bin/sh
# Trains and audits one row: sh results/matrix/commands.sh ppo Hopper 0 1 2
set -e
method=$1 task=$2
shift 2
for seed; do
  run="runs/matrix/$method-$task-v4-s$seed"
  wocar train "$method" --env "$task-v4" --seed "$seed" --threads 1 --preset paper --out "$run"
  wocar audit "$run" --suite fast-v2 --episodes 20 --json "results/matrix/$method-$task-v4-s$seed.json"
done
