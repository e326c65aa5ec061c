"""Flink jobs and their submission."""
