#!/bin/sh
# On a quiet machine: sh results/speed/commands.sh
set -e
make bench
.venv/bin/python -m wocar.bench --only atla-ppo pa-atla-ppo --json results/speed/bench-atla.json
.venv/bin/python -m wocar.bench.dqn --rounds 3 --steps 2400
.venv/bin/python -m wocar.bench.dqn --updates --rounds 1 --json results/speed/bench-dqn-updates.json
.venv/bin/python scripts/ppo_time.py
.venv/bin/python scripts/update_time.py
.venv/bin/python scripts/sac_floor.py
make tables
