"""Parts of scripts/fuzz.py: honest files of every kind, damage, and a watched reader."""
