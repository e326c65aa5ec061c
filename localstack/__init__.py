"""Kafka, Redis, Flink and Spark on one machine."""
