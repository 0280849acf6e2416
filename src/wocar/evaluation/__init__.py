"""Episodes of (victim, attack, eps), frozen suites, statistics."""
