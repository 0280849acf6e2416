"""Speed ratios."""
