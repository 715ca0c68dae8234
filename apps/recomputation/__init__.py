"""Compute again automatically: schedules, triggers, and every time that one of them fired."""
