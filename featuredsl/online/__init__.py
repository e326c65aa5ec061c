"""Keys, layout, codec and store of the online values in Redis."""
