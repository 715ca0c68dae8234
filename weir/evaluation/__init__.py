"""Candidates, planners and seeds compared: which goal topology is worth the way there."""
