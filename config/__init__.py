"""Assemble Weir: settings, the task app, the web entry, the embedded stack."""
