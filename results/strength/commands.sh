#!/bin/sh
# Half an hour on two cores
set -e
.venv/bin/python scripts/attack_strength.py --tasks RandomContinuous0 RandomDiscrete0
