"""Gymnasium's MuJoCo tasks, many at a time on MuJoCo's own batch of simulations."""
