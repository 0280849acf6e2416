"""The paper's tables and figures as plans, and executors that run them."""
