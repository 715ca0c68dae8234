"""Two systems to look at: the LRGP paper's base workload, and a lifelike one on six brokers."""
