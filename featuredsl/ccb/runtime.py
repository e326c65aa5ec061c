"""ONNX Runtime with its telemetry off: importing it would otherwise write to the user's cache and phone home."""

from __future__ import annotations

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

__all__ = ["onnxruntime"]
