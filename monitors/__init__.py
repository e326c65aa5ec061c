"""Drift statistics, rules, incidents and retraining decisions: pure functions of closed windows."""
