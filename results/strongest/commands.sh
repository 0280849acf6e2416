#!/bin/sh
# Twelve to twenty-five minutes of a core for each agent.
set -e
one() {
    wocar audit "zoo:$1" --suite mujoco-v2 --json "results/strongest/$2.json" --out "runs/strongest/$2"
}
one Hopper-v4/wocar-ppo wocar-ppo-robust-Hopper-v4-s4 # the zoo's at commit 13f89d0: without pushes and long hunts
one HalfCheetah-v4/wocar-sac wocar-sac-HalfCheetah-v4-s2
one Walker2d-v4/wocar-ppo wocar-ppo-robust-Walker2d-v4-s1

ahead() {
    wocar audit "zoo:$1/$2" --attacks none,lookahead --episodes 20 --json "results/strongest/lookahead-$1-$2.json"
}
ahead Hopper-v4 wocar-ppo
ahead Hopper-v4 wocar-sac
ahead HalfCheetah-v4 wocar-ppo
ahead HalfCheetah-v4 wocar-sac
ahead HalfCheetah-v5 hardened-ppo
ahead Walker2d-v4 wocar-ppo
