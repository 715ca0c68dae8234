"""Keep an append-only record of who did what, when and why."""
