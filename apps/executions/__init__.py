"""Manage what is in force at the brokers, and the executions that change it through the agents."""
