"""Estimate what publishers and consumers want, beside what the model says of it."""
