"""Trainers: the only room with an optimiser of the policy."""
