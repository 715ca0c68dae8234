"""Serve the published schema: built once per process, identified by its ETag."""

import hashlib
import threading
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

_building = threading.Lock()


@cache
def _schema() -> Any:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    return generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]


_rendered: dict[type[BaseRenderer], tuple[str, bytes]] = {}


def rendered(renderer: BaseRenderer) -> tuple[str, bytes]:
    """Return ETag and text in the renderer's format; requests during the first rendering wait for
    it."""
    kind = type(renderer)
    if kind not in _rendered:
        with _building:
            if kind not in _rendered:
                shown = renderer.render(_schema(), renderer_context={})
                text = shown.encode() if isinstance(shown, str) else shown
                _rendered[kind] = f'"{hashlib.sha256(text).hexdigest()[:32]}"', text
    return _rendered[kind]


class _Ready(BaseRenderer):
    """Return text that is rendered already."""

    def __init__(self, like: BaseRenderer) -> None:
        self.media_type, self.charset, self.format = like.media_type, like.charset, like.format

    def render(self, data: Any, *_: Any, **__: Any) -> bytes:
        return data if isinstance(data, bytes) else b""


class SchemaView(SpectacularAPIView):
    """Publish the schema without sign-in: it says what anybody may read in the sources, so it must
    cost nothing."""

    authentication_classes: list[Any] = []
    permission_classes: list[Any] = []

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Return the schema; 304 to a caller that has it."""
        renderer = request.accepted_renderer
        etag, text = rendered(renderer)
        headers = {"ETag": etag, "Cache-Control": "no-cache"}
        if etag in request.headers.get("If-None-Match", ""):
            response = Response(status=304, headers=headers)
        else:
            response = Response(text, headers=headers)
        request.accepted_renderer = _Ready(renderer)
        return response
