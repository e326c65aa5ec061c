"""Plans to SQL text; no engine is imported here."""
