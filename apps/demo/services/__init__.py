"""Create three systems: the LRGP paper's base workload, a lifelike one, and one that really
runs."""
