"""The Open Bandit demo."""
