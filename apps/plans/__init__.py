"""Plan changes: what changes, in which order and why; who approved it; when it may happen."""
