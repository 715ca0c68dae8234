"""Read plans; nothing here changes a row."""
