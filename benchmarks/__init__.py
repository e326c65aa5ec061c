"""Benchmarks: each module has `run(mode) -> list of rows`; `python -m benchmarks NAME [quick|full]` runs one."""
