"""Read what became of sums of records: how objectives held."""
