"""What people are told about drift: texts and payloads, routing, deduplication. No client and no clock."""
