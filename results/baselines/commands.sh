#!/bin/sh
# sh results/baselines/commands.sh (hours)
set -e
scripts/baselines.sh
.venv/bin/python scripts/baselines_table.py
