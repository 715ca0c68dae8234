"""Reads of evaluations: what they are made of, how they stand, what may be done with them."""
