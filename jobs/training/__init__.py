"""Training, gate, registry."""
