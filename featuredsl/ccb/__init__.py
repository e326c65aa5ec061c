"""Conditional contextual bandits: requests, examples, scoring, off-policy estimates."""
