"""Import the interests of many subscribers in the background."""

from apps.catalog.services.imports import import_cancel, import_start, imports_reap

__all__ = ["import_cancel", "import_start", "imports_reap"]
