"""Plans to SQL text; no engine is imported here."""

from __future__ import annotations
