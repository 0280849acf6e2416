"""Mechanisms of the paper and objectives built of them; independent of algorithms and environments."""
