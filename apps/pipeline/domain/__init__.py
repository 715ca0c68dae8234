"""State rules of sums of records, and of objectives that are judged by them."""
