"""Create four systems: the LRGP paper's base workload, a lifelike one, one that really runs, and
a market whose flows share streams."""
