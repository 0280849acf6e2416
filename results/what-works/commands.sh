#!/bin/sh
# Agents and audits of results/what-works. One process at a time; an agent takes one to three minutes of a quiet core.
# usage: commands.sh TASK SEED..., e.g. commands.sh Hopper 0 1 2 3 4
set -e
task=$1
shift
suite=fast-v2
floor=0.7
[ "$task" = HalfCheetah ] && floor=0.5

one() { # variant, method, options
    variant=$1 method=$2
    shift 2
    run=runs/what-works/$task-$variant-s$seed
    [ -e "$run/agent/agent.json" ] ||
        wocar train "$method" --env "$task-v4" --seed "$seed" --steps 1_000_000 --threads 1 --out "$run" "$@"
    file=results/what-works/$task-$variant-s$seed.json
    [ -e "$file" ] || wocar audit "$run" --suite $suite --json "$file"
}

for seed; do
    one ppo ppo
    one ppo-floor ppo --min-std $floor
    one sa-ppo sa-ppo --preset paper
    one sa-ppo-free-sigma sa-ppo --preset paper --reg-std
    one sa-ppo-floor sa-ppo --preset paper --min-std $floor
    one wocar-ppo-paper wocar-ppo --preset paper
    one wocar-ppo wocar-ppo
    one wocar-ppo-no-directors wocar-ppo --director-share 0
    one wocar-ppo-no-worst-term wocar-ppo --kappa-wst 0
    one wocar-ppo-no-importance wocar-ppo --no-importance
    one wocar-ppo-no-floor wocar-ppo --min-std 0
done
