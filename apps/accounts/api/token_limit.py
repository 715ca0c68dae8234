"""Limit how often a token may ask, and say in every answer to it how much is left.

A token has a bucket of as many requests as it may make in a minute, which fills evenly: a burst may
use all of it, and from then on requests are taken as it fills. Valkey counts for all processes, by
its own clock. Where it does not answer at once, requests pass uncounted: the limit keeps a program
that runs wild from the others, and nobody's access depends on it.

The fields are those of draft-ietf-httpapi-ratelimit-headers-10.
"""

import logging
import math
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import redis
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin
from redis.backoff import NoBackoff
from redis.retry import Retry
from rest_framework.exceptions import Throttled
from rest_framework.request import Request

from apps.accounts.models import ApiToken

logger = logging.getLogger(__name__)
PREFIX = "weir:token-limit:"
WINDOW_S = 60
ANSWERS_WITHIN_S = 0.2
"""How long a request waits for Valkey at most."""
LEFT_ALONE_S = 5.0
"""For how long no further request of the process waits for a Valkey that did not answer."""
BUDGET = "weir.token_budget"
"""Under which name a request's META holds what its token has left."""

# One number per token: when its bucket will be full again. Each request puts that off by the time
# in which one request's worth flows in; it is refused where that would be more than a whole bucket
# away. Answers whether it was taken, how many more may follow at once, and in how many microseconds
# there will be one more.
_TAKE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local each, quota = tonumber(ARGV[1]), tonumber(ARGV[2])
local most = each * quota
local full = math.min(math.max(tonumber(redis.call('GET', KEYS[1]) or now), now), now + most)
local after = full + each
if after > now + most then
  return {0, 0, after - most - now}
end
redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
local left = math.floor((now + most - after) / each)
return {1, left, (left + 1) * each - (now + most - after)}
"""


class TooManyRequests(Throttled):
    """Refuse a token that has asked more often than it may."""

    default_code = "too_many_requests"
    extra_detail_singular = "Try again in {wait} second."
    extra_detail_plural = "Try again in {wait} seconds."


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a token has left after a request."""

    per_minute: int
    taken: bool
    left: int
    more_in_s: int
    """Seconds until it may make one request more than now."""

    @property
    def fields(self) -> dict[str, str]:
        """Return the header fields that say so."""
        return {
            "RateLimit-Policy": f'"token";q={self.per_minute};w={WINDOW_S}',
            "RateLimit": f'"token";r={self.left};t={self.more_in_s}',
        }


@cache
def _script(url: str) -> Any:
    client = redis.Redis.from_url(
        url,
        socket_timeout=ANSWERS_WITHIN_S,
        socket_connect_timeout=ANSWERS_WITHIN_S,
        retry=Retry(NoBackoff(), 0),
    )
    return client.register_script(_TAKE)


_left_alone_until: dict[str, float] = {}
"""By address, on this process' clock."""


def _take(token: ApiToken, per_minute: int) -> Budget | None:
    """Count a request of the token; None where Valkey does not answer."""
    url: str = settings.WEIR_BROKER_URL
    if time.monotonic() < _left_alone_until.get(url, 0.0):
        return None
    each_us = WINDOW_S * 1_000_000 // per_minute
    try:
        taken, left, more_us = _script(url)(
            keys=[f"{PREFIX}{token.public_id}"], args=[each_us, per_minute]
        )
    except redis.RedisError as error:
        _left_alone_until[url] = time.monotonic() + LEFT_ALONE_S
        logger.warning("requests of tokens pass uncounted for %g s: %s", LEFT_ALONE_S, error)
        return None
    return Budget(
        per_minute=per_minute,
        taken=bool(taken),
        left=int(left),
        more_in_s=max(1, math.ceil(int(more_us) / 1_000_000)),
    )


def count_request(request: Request, token: ApiToken) -> None:
    """Count a request of a token that is valid. Raises TooManyRequests where it is one too many."""
    per_minute: int = settings.WEIR_API_REQUESTS_PER_MINUTE
    if not per_minute or BUDGET in request.META:
        return
    budget = _take(token, per_minute)
    if budget is None:
        return
    request.META[BUDGET] = budget
    if not budget.taken:
        raise TooManyRequests(
            wait=budget.more_in_s,
            detail=f"This token may make {per_minute} requests a minute, and has; nothing of this "
            "one was carried out.",
        )


class TokenLimitFields(MiddlewareMixin):
    """Say in each answer to a token how much it has left, whatever the answer is."""

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer without the thread that Django would take for it: nothing here waits."""
        # Django calls this only where what follows is asynchronous.
        return self.process_response(request, await self.get_response(request))  # type: ignore[misc]

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Return the answer with the fields of the limit."""
        budget = request.META.get(BUDGET)
        if isinstance(budget, Budget):
            for name, value in budget.fields.items():
                response.headers[name] = value
        return response
