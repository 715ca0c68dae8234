"""Reads of plans; nothing here changes a row."""
