#!/bin/sh
# Agents and audits of results/what-works. One process at a time; an agent takes 8 to 30 minutes of a quiet core.
# usage: commands.sh TASK SEED..., e.g. commands.sh Hopper 0 1 2 3 4
set -e
task=$1
shift
one() { # variant, method, options
    variant=$1 method=$2
    shift 2
    run=runs/what-works/$task-$variant-s$seed
    [ -e "$run/agent/agent.json" ] ||
        wocar train "$method" --env "$task-v4" --seed "$seed" --threads 1 --out "$run" "$@"
    file=results/what-works/$task-$variant-s$seed.json
    [ -e "$file" ] || wocar audit "$run" --suite fast-v2 --episodes 20 --json "$file"
}

case $task in
Hopper) unpushed="--no-hunt-long --hunt-begin 0.8 --director-share 0" ;;
HalfCheetah) # the preset before larger minibatches
    small="--steps 1_000_000 --hunt-begin 1 --n-steps 128 --minibatches 32 --policy-epochs 10 --init-std 0.5"
    small="$small --min-std 0.5 --kappa-reg 0.6 --value-lr 1e-3" ;;
Walker2d) # what did not work on other seeds than 100
    large="--n-steps 256 --minibatches 16 --policy-epochs 5 --init-std 0.5 --min-std 0.3 --kappa-reg 0.3"
    large="$large --policy-lr 3e-4 --checkpoint-every 200_000 --hunt-begin 0.5"
    large="$large --director-share 0.25 --director-hunted 0.7" ;;
esac
for seed; do
    case $task in
    Hopper)
        one wocar-ppo-long wocar-ppo # seeds 5 to 9
        one sa-ppo-long sa-ppo       # seeds 5 to 9
        one wocar-ppo-pushes wocar-ppo --no-hunt-long
        one wocar-ppo-hunts wocar-ppo $unpushed
        one sa-ppo-hunts sa-ppo $unpushed ;;
    HalfCheetah)
        one wocar-ppo-4M wocar-ppo
        one sa-ppo-4M sa-ppo
        one wocar-ppo wocar-ppo $small ;;
    Walker2d)
        one wocar-ppo-hunts wocar-ppo
        one wocar-ppo-pushes wocar-ppo $large
        one wocar-ppo-long wocar-ppo $large --hunt-long ;;
    Ant) one wocar-ppo wocar-ppo ;;
    esac
done

[ "$task" = Hopper ] || exit 0
# A grid of a million steps without cap, hunts and pushes; not run but for wocar-ppo.
old() {
    variant=$1 method=$2
    shift 2
    one "$variant" "$method" --steps 1_000_000 "$@"
}
without="--reward-slope 1 --hunt-begin 1 --director-share 0"

for seed; do
    old ppo ppo --preset paper
    old ppo-floor ppo --preset paper --min-std 0.7
    old sa-ppo sa-ppo --preset paper
    old sa-ppo-free-sigma sa-ppo --preset paper --reg-std
    old sa-ppo-floor sa-ppo --preset paper --min-std 0.7
    old wocar-ppo-paper wocar-ppo --preset paper
    old wocar-ppo wocar-ppo $without
    old wocar-ppo-no-worst-term wocar-ppo $without --kappa-wst 0
    old wocar-ppo-no-importance wocar-ppo $without --no-importance
    old wocar-ppo-no-floor wocar-ppo $without --min-std 0
done
