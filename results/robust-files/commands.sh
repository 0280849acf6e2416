#!/bin/sh
# Hours on a busy machine: an hour of processor in all. A fuzz.json that is there is gone on with.
set -e
here=results/robust-files
nice -n 10 .venv/bin/python scripts/fuzz.py --files 100000 --minutes 10000 --seed 20 --json $here/fuzz.json
nice -n 10 .venv/bin/python scripts/kills.py --kills 50 --json $here/kills.json
DEATHS=all nice -n 10 .venv/bin/python -m pytest tests/test_deaths.py -o junit_family=xunit1 --junitxml .cache/deaths.xml
grep -o 'name="deaths" value="[0-9]*"' .cache/deaths.xml
