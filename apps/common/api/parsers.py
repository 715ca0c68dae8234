"""Read the bodies of requests."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer

from apps.common.json_reader import UnreadableJson, read_json


class JsonBody(JSONParser):
    """Read JSON with the one reader; a body that is too large is rejected while it is read.

    A JSONParser, so that the framework keeps the body: idempotency keys are bound to its bytes.
    """

    media_type = "application/json"
    renderer_class = JSONRenderer

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        most: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raw = stream.read(most + 1)
        if len(raw) > most:
            raise RequestDataTooBig
        try:
            return read_json(raw)
        except UnreadableJson as error:
            if error.path:
                raise ValidationError({error.path: error.message}) from error
            raise ParseError(error.message) from error
