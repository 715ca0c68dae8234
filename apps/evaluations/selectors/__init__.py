"""Read evaluations: their contents, their state, and what may be done with them."""
