"""Forecast what publishers and consumers will want, by the time of day and week."""
