"""Define Django's settings: `base` holds what is common, `dev`, `test` and `prod` the
differences."""
