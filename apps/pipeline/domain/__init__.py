"""Rules of sums of records: error budgets of service-level objectives."""
