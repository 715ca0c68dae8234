"""Control between two runs of the optimizer: rates follow what is really free or congested."""
