"""Trained agents that come with the package, each with its audited numbers and a model card."""
