"""Training methods: a registry, and presets per task."""
