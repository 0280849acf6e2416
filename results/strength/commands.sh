#!/bin/sh
# 262 seconds of one core; strength.json keeps what it holds of other tasks and suites
set -e
.venv/bin/python scripts/attack_strength.py --tasks RandomDiscrete0 RandomDiscrete1 RandomDiscrete2 --suites fast-v2
# An earlier commit made the rest:
#   .venv/bin/python scripts/attack_strength.py --tasks RandomContinuous0
#   .venv/bin/python scripts/attack_strength.py --tasks RandomDiscrete0 --suites fast-v1
# Not run yet: --suites atari-v2, and seeds 1 and 2 of the continuous tasks
