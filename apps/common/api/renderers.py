"""Render answers that are no JSON."""

from rest_framework.renderers import JSONRenderer


class CsvRenderer(JSONRenderer):
    """Let a client ask for text/csv; it renders only problem documents itself."""

    media_type = "text/csv"
    format = "csv"
