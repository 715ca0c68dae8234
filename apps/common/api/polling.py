"""Make it cheap to ask again: who has the present answer gets 304, and a 202 says when to look.

A body depends on more than the version of a row: on names of other rows, counts, and what the
caller may do. So every answer to a read is identified by a hash of its body, beside the version by
which it is edited.
"""

import hashlib
import re

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import parse_etags

API = "/api/v1/"
POLL_AFTER_S = 1
"""After how many seconds it makes sense to look how far a long operation is."""
VERSION = re.compile(r'"([0-9]+)"')
HASH_LENGTH = 16
KEPT = ("Cache-Control", "Content-Location", "ETag", "Expires", "Last-Modified", "Vary")
"""The headers of a 304, as RFC 9110 lists them: those that the full answer would have had."""


class Polling(MiddlewareMixin):
    """Identify every answer to a read, and leave it out where the caller has it already."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Return the answer with what callers need who ask again, or 304."""
        if not request.path.startswith(API):
            return response
        if response.status_code == 202:
            response.headers.setdefault("Retry-After", str(POLL_AFTER_S))
        if request.method not in ("GET", "HEAD") or response.status_code != 200:
            return response
        if not isinstance(response, HttpResponse) or response.streaming:
            return response
        if "no-store" in response.headers.get("Cache-Control", ""):
            return response
        tag = response.headers["ETag"] = _tag(response)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        patch_vary_headers(response, ("Authorization", "Cookie"))
        return _not_modified(response) if _is_known(request, tag) else response


def _tag(response: HttpResponse) -> str:
    """Return the tag of an answer: its version, if it has one, and a hash of its body."""
    given = response.headers.get("ETag", "")
    version = VERSION.fullmatch(given)
    if given and version is None:
        # It identifies the body already.
        return given
    digest = hashlib.sha256(response.content).hexdigest()[:HASH_LENGTH]
    return f'"{version[1]}-{digest}"' if version else f'"{digest}"'


def _is_known(request: HttpRequest, tag: str) -> bool:
    """Return whether the caller has this answer; whoever compressed it on the way made its tag a
    weak one."""
    known = parse_etags(request.headers.get("If-None-Match", ""))
    return "*" in known or tag in {one.removeprefix("W/") for one in known}


def _not_modified(response: HttpResponse) -> HttpResponse:
    answer = HttpResponseNotModified()
    for name in KEPT:
        if name in response.headers:
            answer.headers[name] = response.headers[name]
    answer.cookies = response.cookies
    return answer
