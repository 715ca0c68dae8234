"""Sign what is sent as Standard Webhooks says (symmetric signatures, version v1)."""

import base64
import hashlib
import hmac
import uuid
from collections.abc import Iterable

PREFIX = "whsec_"


def secret_of(key: str, webhook: uuid.UUID, generation: int) -> str:
    """Return a webhook's secret of this generation, as receivers write it.

    It is derived from the installation's own secret, so that no copy of it lies in the database.
    """
    words = f"webhook:{webhook}:{generation}".encode()
    return PREFIX + base64.b64encode(hmac.digest(key.encode(), words, "sha256")).decode()


def fingerprint(secret: str) -> str:
    """Return a few letters that tell one secret from another and give nothing of it away."""
    return hashlib.sha256(secret.encode()).hexdigest()[:8]


def signatures(secrets: Iterable[str], message: str, at: int, body: bytes) -> str:
    """Return the header `webhook-signature`: one signature for each secret, newest first.

    `message` is its id, `at` the time of this attempt in whole seconds.
    """
    signed = f"{message}.{at}.".encode() + body
    return " ".join(
        "v1," + base64.b64encode(hmac.digest(_bytes(secret), signed, "sha256")).decode()
        for secret in secrets
    )


def _bytes(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(PREFIX))
