"""Where Weir is put together: settings, the task app, the web entry, the embedded stack."""
