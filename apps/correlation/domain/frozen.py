"""Write and read what is frozen of a topic's publishers, as docs/formats.md describes it."""

import json
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def measured_bytes(
    topic: str,
    times: Mapping[str, Sequence[float]],
    *,
    since_s: float,
    until_s: float,
    untimed: int,
) -> bytes:
    """Return the frozen moments of a topic's publishers; `times` ascend, Unix seconds."""
    names = sorted(times)
    every = np.concatenate([np.asarray(times[name], dtype="<f8") for name in names])
    source = {"kind": "measured", "since_s": since_s, "until_s": until_s, "untimed": untimed}
    return _text(
        {
            "format": 1,
            "topic": topic,
            "source": source,
            "publishers": names,
            "counts": [len(times[name]) for name in names],
            "times": b64encode(zlib.compress(every.tobytes())).decode(),
        }
    )


def recording_bytes(topic: str, *, name: str, size: int, modified_s: float) -> bytes:
    """Return which recording is searched, as it is now: `size` in bytes."""
    source = {"kind": "recording", "name": name, "bytes": size, "modified_s": modified_s}
    return _text({"format": 1, "topic": topic, "source": source})


def frozen(payload: bytes) -> dict[str, Any]:
    """Return what was frozen as plain data, with the times as they were packed."""
    plain: dict[str, Any] = json.loads(payload)
    return plain


def _text(plain: object) -> bytes:
    text = json.dumps(
        plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()
