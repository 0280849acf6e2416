"""Presets, the paper's experiments as data, demo and benchmark."""
