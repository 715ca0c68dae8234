"""Choose in which form an answer is sent, and render those that are no JSON."""

from collections.abc import Iterable

from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request


class CsvRenderer(JSONRenderer):
    """Let a client ask for text/csv; it renders only problem documents itself."""

    media_type = "text/csv"
    format = "csv"


class FormatNegotiation(DefaultContentNegotiation):
    """The choice by `format` in the query, whatever is accepted, and by `Accept` without it."""

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        """Return the renderer of an answer, and its media type.

        Raises ValidationError at `format` where there is no such form, NotAcceptable where none is
        accepted.
        """
        name = request.query_params.get("format")
        if not name:
            chosen: tuple[BaseRenderer, str]
            chosen = super().select_renderer(request, renderers, format_suffix)
            return chosen
        for renderer in renderers:
            if renderer.format == name:
                return renderer, renderer.media_type
        known = dict.fromkeys(str(renderer.format) for renderer in renderers)
        raise serializers.ValidationError({"format": f"Must be {' or '.join(known)}."})
