"""What agents are and report: credentials, leases, observed state, measured rates."""
