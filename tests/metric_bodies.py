"""Bodies of collectors, by the field numbers of the specifications alone."""

import gzip
import struct
from typing import Any

import pyarrow as pa

STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
DELTA, CUMULATIVE = 1, 2


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def whole(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def eight(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 1) + value


def real(number: int, value: float) -> bytes:
    return eight(number, struct.pack("<d", value))


def fixed(number: int, value: int) -> bytes:
    return eight(number, struct.pack("<Q", value))


def nanos(at_s: float) -> int:
    # A float has no room for all of them.
    return round(at_s * 1e6) * 1000


def inside(number: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


# Prometheus: WriteRequest {1: TimeSeries}, TimeSeries {1: Label, 2: Sample}


def sample(value: float, at_s: float) -> bytes:
    # The stale marker as it is: a float that is no number may lose its bits on the way.
    return inside(2, real(1, value) + whole(2, round(at_s * 1000)))


def series(labels: dict[str, str], *samples: bytes) -> bytes:
    named = [inside(1, inside(1, name) + inside(2, text)) for name, text in sorted(labels.items())]
    return inside(1, b"".join([*named, *samples]))


def snappy(body: bytes) -> bytes:
    packed: bytes = pa.compress(body, codec="snappy", asbytes=True)
    return packed


def zipped(body: bytes) -> bytes:
    # Without the time, so that tests that hold it have the same name in each process.
    return gzip.compress(body, mtime=0)


# OTLP: ExportMetricsServiceRequest {1: ResourceMetrics}; ResourceMetrics {1: Resource, 2:
# ScopeMetrics}; ScopeMetrics {2: Metric}; Metric {1: name, 5: Gauge, 7: Sum, 9: Histogram, ...}


def attributes(number: int, values: dict[str, Any]) -> bytes:
    pairs = []
    for key, value in values.items():
        kind = inside(1, value) if isinstance(value, str) else whole(3, value)
        pairs.append(inside(number, inside(1, key) + inside(2, kind)))
    return b"".join(pairs)


def point(
    value: float | int | None,
    at_s: float,
    *,
    since_s: float = 0.0,
    flags: int = 0,
    of: dict[str, Any] | None = None,
) -> bytes:
    parts = [attributes(7, of or {}), fixed(2, nanos(since_s)), fixed(3, nanos(at_s))]
    if isinstance(value, int):
        parts.append(eight(6, struct.pack("<q", value)))
    elif value is not None:
        parts.append(real(4, value))
    return inside(1, b"".join([*parts, whole(8, flags)]))


def gauge(name: str, *points: bytes) -> bytes:
    return inside(2, inside(1, name) + inside(5, b"".join(points)))


def total(name: str, *points: bytes, temporality: int, monotonic: bool = True) -> bytes:
    data = b"".join([*points, whole(2, temporality), whole(3, int(monotonic))])
    return inside(2, inside(1, name) + inside(7, data))


def histogram(name: str, at_s: float) -> bytes:
    data = inside(1, fixed(3, nanos(at_s)) + fixed(4, 3) + real(5, 0.5)) + whole(2, DELTA)
    return inside(2, inside(1, name) + inside(9, data))


def summary(name: str, at_s: float) -> bytes:
    data = inside(1, fixed(3, nanos(at_s)) + fixed(4, 3) + real(5, 0.5))
    return inside(2, inside(1, name) + inside(11, data))


def export(resource: dict[str, Any], *metrics: bytes) -> bytes:
    return inside(1, inside(1, attributes(1, resource)) + inside(2, b"".join(metrics)))
