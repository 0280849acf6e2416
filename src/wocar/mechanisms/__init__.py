"""The paper, one file per mechanism. Knows no algorithm and no environment."""
