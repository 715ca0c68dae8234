"""A kind of computation as somebody would add it: its table, its record, and its kernel."""
