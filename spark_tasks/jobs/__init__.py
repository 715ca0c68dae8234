"""One file per shape of job; the algorithm is a parameter."""
