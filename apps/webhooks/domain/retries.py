"""When a delivery is tried again, and when a webhook is given up."""

import random
from datetime import timedelta

PAUSES_S = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""After each failed attempt but the last: five seconds to a day, 75 hours in all."""

SPREAD = 0.1
"""So that what failed together is not tried together."""

MOST_ATTEMPTS = len(PAUSES_S) + 1
LONGEST_WAIT = timedelta(days=1)

GIVEN_UP_AFTER = timedelta(days=5)
"""A webhook that has only failed for so long is disabled."""

KEPT_WHILE_DISABLED = timedelta(days=3)
"""What waited longer when a webhook is enabled again is not sent any more."""

FAILING = 3
"""Failures in a row after which a webhook is left alone for a while."""

FIRST_REST_S, LONGEST_REST_S = 10.0, 300.0
LONGEST_REST = timedelta(seconds=LONGEST_REST_S)


def next_attempt(attempts: int, retry_after_s: float | None = None) -> timedelta | None:
    """Return how long to wait after so many attempts, all failed; None: it is given up."""
    if attempts > len(PAUSES_S):
        return None
    pause = timedelta(seconds=PAUSES_S[attempts - 1] * random.uniform(1 - SPREAD, 1 + SPREAD))
    return pause if retry_after_s is None else max(pause, wished(retry_after_s))


def wished(retry_after_s: float) -> timedelta:
    """Return how long a server that says so is left alone: a day at most."""
    return timedelta(seconds=min(retry_after_s, LONGEST_WAIT.total_seconds()))


def rest(failures: int) -> timedelta:
    """Return how long a webhook is left alone after so many failures in a row."""
    doubled = FIRST_REST_S * 2 ** min(max(failures - FAILING, 0), 20)
    return timedelta(seconds=min(doubled, LONGEST_REST_S))
