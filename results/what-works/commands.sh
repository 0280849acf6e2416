#!/bin/sh
# Agents and audits of results/what-works. One process at a time; an agent takes one to three minutes of a quiet core.
# usage: commands.sh TASK SEED..., e.g. commands.sh Hopper 0 1 2 3 4
set -e
task=$1
shift
floor=0.7
[ "$task" = HalfCheetah ] && floor=0.5

one() { # variant, method, options
    variant=$1 method=$2
    shift 2
    run=runs/what-works/$task-$variant-s$seed
    [ -e "$run/agent/agent.json" ] ||
        wocar train "$method" --env "$task-v4" --seed "$seed" --threads 1 --out "$run" "$@"
    file=results/what-works/$task-$variant-s$seed.json
    [ -e "$file" ] || wocar audit "$run" --suite fast-v2 --episodes 20 --json "$file"
}

# The grid was written for a million steps and no hunts.
old() {
    variant=$1 method=$2
    shift 2
    one "$variant" "$method" --steps 1_000_000 "$@"
}
without="--reward-slope 1 --hunt-begin 1"

for seed; do
    [ "$task" = HalfCheetah ] || one wocar-ppo-hunts wocar-ppo
    [ "$task" = HalfCheetah ] || one sa-ppo-hunts sa-ppo
    old ppo ppo
    old ppo-floor ppo --min-std $floor
    old sa-ppo sa-ppo --preset paper
    old sa-ppo-free-sigma sa-ppo --preset paper --reg-std
    old sa-ppo-floor sa-ppo --preset paper --min-std $floor
    old wocar-ppo-paper wocar-ppo --preset paper
    old wocar-ppo wocar-ppo $without
    old wocar-ppo-no-worst-term wocar-ppo $without --kappa-wst 0
    old wocar-ppo-no-importance wocar-ppo $without --no-importance
    old wocar-ppo-no-floor wocar-ppo $without --min-std 0
done
