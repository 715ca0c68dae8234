"""Spark's room: thin Connect clients on this side, kernels inside the tasks on the other."""
