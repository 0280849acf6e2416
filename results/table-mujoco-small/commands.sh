#!/bin/sh
# sh results/table-mujoco-small/commands.sh (hours)
exec wocar reproduce table-mujoco --scale small --seeds 1
