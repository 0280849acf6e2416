#!/bin/sh
# Trains and audits DQN and WocaR-DQN on the three tasks: sh results/discrete/commands.sh
set -e
for task in GoHomeGrid-v0 CartPole-v1 LunarLander-v3; do scripts/discrete_evidence.sh "$task"; done
.venv/bin/python scripts/discrete_table.py
