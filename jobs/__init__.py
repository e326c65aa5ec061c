"""Jobs on the engines."""
