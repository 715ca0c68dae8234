"""A kind of computation as somebody would add it: its table and its record here, its job beside."""
