"""Event contracts: topic names, JSON Schemas, validation of records at the border."""
