"""Run what-if studies: sweeps and schedules over a frozen model, solved on Spark, stored as
rows."""
