"""What reads request bodies leaves them to those who come after."""

from typing import Any

import pytest
from django.test import RequestFactory
from rest_framework.request import Request

from apps.common.api.parsers import CsvBody, JsonBody, KeptBody


@pytest.mark.parametrize(
    ("parser", "raw", "value"), [(JsonBody(), b'{"a": 1}', {"a": 1}), (CsvBody(), b"a\n1", "a\n1")]
)
def test_a_body_that_was_parsed_can_be_read_again(parser: KeptBody, raw: bytes, value: Any) -> None:
    sent = RequestFactory().post("/", data=raw, content_type=parser.media_type)
    request = Request(sent, parsers=[parser])
    assert request.data == value
    assert sent.body == raw
