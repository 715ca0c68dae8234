"""A kernel that counts until it is told that it is enough."""

import time

from weir.errors import InvalidProblem
from weir.kernel import Call


def answer(payload: bytes, call: Call) -> bytes:
    """How far it came, or a refusal of an empty payload."""
    if not payload:
        raise InvalidProblem("text", "is empty")
    rounds = 0
    while not call.stop():
        rounds += 1
        call.report({"done": rounds})
        time.sleep(0.001)
    return f"{payload.decode()} {call.method} {call.seed} {rounds > 0}".encode()
