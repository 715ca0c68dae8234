"""Read sums of records, and how objectives held by them."""
