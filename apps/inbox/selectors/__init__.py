"""Read what waits for a person, and what it comes from."""

from apps.inbox.selectors.inbox import inbox_of

__all__ = ["inbox_of"]
