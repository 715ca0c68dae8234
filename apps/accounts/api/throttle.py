"""Limit how often sign-in may be tried, per address and per account, over all processes.

Attempts are counted before any password is checked, because checking is the expensive part. An
address from which somebody has signed in before is not locked out by strangers who guess at the
same account.

Without Valkey each process counts alone: fewer attempts are refused, but none is uncounted.
"""

import hashlib
import logging
import threading
import time
from dataclasses import dataclass
from functools import cache

import redis
from django.conf import settings
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

logger = logging.getLogger(__name__)
PREFIX = "weir:sign-in:"
KNOWN_S = 90 * 86_400
MOST_LOCAL = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Allow this many attempts in a window of this many seconds."""

    tries: int
    window_s: int


PER_ADDRESS = Rate(tries=30, window_s=60)
PER_ACCOUNT = Rate(tries=20, window_s=300)

_local: dict[str, tuple[float, int]] = {}
_lock = threading.Lock()


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.WEIR_BROKER_URL, socket_timeout=1.0, socket_connect_timeout=1.0
    )


def address_of(request: Request) -> str:
    """Return the address of the caller: the peer, or the one that the last trusted proxy
    reports."""
    return BaseThrottle().get_ident(request) or ""


def _count(key: str, rate: Rate, by: int = 1) -> tuple[int, int]:
    """Return the count after this attempt, and how many seconds its window still lasts."""
    try:
        with _client().pipeline() as pipe:
            pipe.set(PREFIX + key, 0, ex=rate.window_s, nx=True)
            pipe.incrby(PREFIX + key, by)
            pipe.ttl(PREFIX + key)
            _, count, left = pipe.execute()
        return int(count), max(1, int(left))
    except redis.RedisError as error:
        logger.warning("this process counts sign-in attempts alone: %s", error)
        return _count_here(key, rate, by)


def _count_here(key: str, rate: Rate, by: int) -> tuple[int, int]:
    now = time.monotonic()
    with _lock:
        if len(_local) > MOST_LOCAL:
            _local.clear()
        end, count = _local.get(key, (0.0, 0))
        if end <= now:
            end, count = now + rate.window_s, 0
        _local[key] = end, count + by
    return count + by, max(1, int(end - now))


def _hashed(text: str) -> str:
    """Return a key of fixed length for any text."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]


class AddressThrottle(BaseThrottle):
    """Refuse an address that tries too often, before the body is read."""

    _left = 0

    def allow_request(self, request: Request, view: object) -> bool:
        """Count this attempt and return whether it is allowed."""
        key = f"address:{_hashed(address_of(request))}"
        count, self._left = _count(key, PER_ADDRESS)
        return count <= PER_ADDRESS.tries

    def wait(self) -> float:
        """Return the seconds until the next attempt counts."""
        return self._left


class AccountTry:
    """Count one attempt to sign in to an account. Raises Throttled where there were too many."""

    def __init__(self, request: Request, username: str) -> None:
        account = _hashed(username.casefold())
        self._key = f"account:{account}"
        self._known = f"{PREFIX}known:{account}:{_hashed(address_of(request))}"
        count, left = _count(self._key, PER_ACCOUNT)
        if count > PER_ACCOUNT.tries and not self._is_known():
            raise Throttled(wait=left)

    def succeeded(self) -> None:
        """Do not count the attempt, and remember its address as known."""
        _count(self._key, PER_ACCOUNT, by=-1)
        try:
            _client().set(self._known, 1, ex=KNOWN_S)
        except redis.RedisError as error:
            logger.warning("the address of a sign-in was not stored: %s", error)

    def _is_known(self) -> bool:
        try:
            return bool(_client().exists(self._known))
        except redis.RedisError:
            return False
