#!/bin/sh
# Trains and audits both games: sh results/atari/commands.sh (hours)
exec scripts/atari_evidence.sh
