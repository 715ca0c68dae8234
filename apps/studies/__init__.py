"""What-if studies: sweeps and schedules over a frozen model, solved on Spark, kept as rows."""
