"""What reads request bodies leaves them to those who come after."""

from django.test import RequestFactory
from rest_framework.request import Request

from apps.common.api.parsers import JsonBody


def test_a_body_that_was_parsed_can_be_read_again() -> None:
    sent = RequestFactory().post("/", data=b'{"a": 1}', content_type="application/json")
    request = Request(sent, parsers=[JsonBody()])
    assert request.data == {"a": 1}
    assert sent.body == b'{"a": 1}'
