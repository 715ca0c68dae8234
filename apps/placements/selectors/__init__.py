"""Read what a placement is computed on, and why there is none."""
