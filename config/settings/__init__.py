"""Django settings: `base` holds what is common, `dev`, `test` and `prod` what differs."""
