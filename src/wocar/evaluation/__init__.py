"""Episodes of (victim, attack, threat), frozen suites, statistics."""
