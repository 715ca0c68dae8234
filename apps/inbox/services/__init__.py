"""Keep the inboxes as things stand."""

from apps.inbox.services.keep import backlog_items_keep, items_keep

__all__ = ["backlog_items_keep", "items_keep"]
