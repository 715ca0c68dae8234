"""Calibrate resource models: fitted from telemetry, corrected while running, bounded by latency."""
