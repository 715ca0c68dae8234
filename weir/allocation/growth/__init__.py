"""Grow rates and populations by benefit and cost: Gryphon's greedy, shared by optimizers."""
