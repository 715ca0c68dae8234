"""What producers of a reliable flow can send at most, whatever rate they are given.

A producer waits for the acknowledgement of a transaction before it begins the next, so a flow with
p producers and k messages per transaction never exceeds

    p k / l      messages per second,

l the inherent latency of an acknowledgement: from receiving the message to the acknowledgement,
less the time in the scheduler's queue. A rate above it cannot be used and would only take
capacity from others, so it caps r_max in snapshots.

Reference: Bhola 2006, section III.C and figure 3. doi:10.1109/ICAC.2006.1662382
"""

from __future__ import annotations


def rate_bound(*, producers: int, messages_per_transaction: float, ack_s: float) -> float | None:
    """Messages per second; None where nothing bounds them (no producers known, or no latency)."""
    if producers <= 0 or messages_per_transaction <= 0 or not ack_s > 0:
        return None
    return producers * messages_per_transaction / ack_s
