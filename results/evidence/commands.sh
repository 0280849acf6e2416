#!/bin/sh
# sh results/evidence/commands.sh (hours)
set -e
scripts/evidence.sh
.venv/bin/python scripts/evidence_table.py
