#!/bin/sh
# Agents of Stable-Baselines3, hardened. Needs stable-baselines3; the agents are written to the folder.
set -e
[ -e sb3-ppo-Hopper-v5.zip ] || python results/harden/train_sb3.py hopper
wocar harden sb3-ppo-Hopper-v5.zip --eps 0.075 --out runs/harden/hopper --json results/harden/hopper.json \
  --set reward_slope=1 # as it was before the cap
cap="--eps 0.075 --episodes 20"
wocar harden sb3-ppo-Hopper-v5.zip $cap --out runs/harden/hopper-90 --json results/harden/hopper-cap-keep-90.json
wocar harden sb3-ppo-Hopper-v5.zip $cap --keep-natural 0.85 --out runs/harden/hopper-85 \
  --json results/harden/hopper-cap.json
[ -e sb3-ppo-HalfCheetah-v5.zip ] || python results/harden/train_sb3.py halfcheetah
wocar harden sb3-ppo-HalfCheetah-v5.zip --eps 0.15 --episodes 20 --out runs/harden/halfcheetah \
  --json results/harden/halfcheetah.json

[ -e sb3-dqn-CartPole-v1.zip ] || python results/harden/train_sb3.py cartpole
for seed in 0 1; do
  wocar harden sb3-dqn-CartPole-v1.zip --eps 0.07 --episodes 20 --seed $seed --out runs/harden/dqn-s$seed \
    --json results/harden/dqn-cartpole-s$seed.json
done

# short/: few attacks and 20 episodes
[ -e sb3-a2c-CartPole-v1.zip ] || python results/harden/train_sb3.py cartpole_a2c
python results/harden/linear_cartpole.py 0.07
few="--attacks none,maxdiff-plain,pgd-10 --check-attacks maxdiff-plain,pgd-10 --episodes 20"
wocar harden sb3-a2c-CartPole-v1.zip --eps 0.07 --steps 100000 --out runs/harden/a2c $few \
  --json results/harden/short/a2c-cartpole.json
wocar harden sb3-a2c-CartPole-v1.zip --eps 0.07 --steps 100000 --out runs/harden/until --until-worst 300 \
  --attacks none,maxdiff-plain --check-attacks maxdiff-plain --episodes 20 \
  --json results/harden/short/a2c-until-worst.json
few="--attacks none,maxdiff-plain,pgd-10,min-q --check-attacks maxdiff-plain,pgd-10,min-q --episodes 20"
wocar harden sb3-dqn-CartPole-v1.zip --method wocar-dqn --eps 0.07 --out runs/harden/dqn $few --steps 16000 --set tau=0.02
