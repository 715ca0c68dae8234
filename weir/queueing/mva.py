r"""Mean response time of a closed system: senders that think, ask and wait.

N senders each think for a mean Z, then send a request to a station of m equal servers
with mean service time S and wait for the answer (M/M/m//N).

Assumptions: exponential thinking and service, first come first served, one class.

| paper (Bhola 2006, section II.B) | here |
|---|---|
| N | `senders` |
| T_think | `think_s` |
| T_exec | `exec_s` |
| r_alloc x T_exec | `servers` |
| T_rt | `response_s` |

The arrival theorem, on which mean value analysis rests: a request finds the station as it is
in equilibrium with N - 1 senders, so T_rt(N) = sum_k p(k | N-1) S max(1, (k+1) / m). The
textbook recursion for p loses all digits by subtraction when the station is busy; p is taken
from the balance equations in logarithms instead, which give the same numbers.

Cost: O(N) per number of servers. Fails for nothing in the allowed range.

References:
    M. Reiser, S. S. Lavenberg. Mean-value analysis of closed multichain queuing networks.
    J. ACM 27(2), 1980. doi:10.1145/322186.322195
    S. Bhola, M. Astley, R. Saccone, M. Ward. Utility-aware resource allocation in an event
    processing system. ICAC 2006. doi:10.1109/ICAC.2006.1662382
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedStation:
    """Equilibrium of the closed system."""

    response_s: float
    throughput_per_s: float
    mean_at_station: float


def _log_weights(senders: int, think_s: float, exec_s: float, servers: int) -> np.ndarray:
    """Unnormalised log probability that k of the senders are at the station, k = 0..senders."""
    k = np.arange(senders + 1, dtype=np.float64)
    thinking = senders - k
    # k requests at the station: product of the first k service rates min(i, m)/S
    in_service = np.minimum(k, servers)
    log_service = gammaln(in_service + 1) + (k - in_service) * np.log(servers)
    weights: np.ndarray = (
        k * np.log(exec_s) - log_service + thinking * np.log(think_s) - gammaln(thinking + 1)
    )
    return weights


def closed_station(*, senders: int, think_s: float, exec_s: float, servers: int) -> ClosedStation:
    """Mean response time, throughput and number at the station of M/M/m//N."""
    if senders < 1 or servers < 1 or exec_s <= 0 or think_s < 0:
        raise ValueError("need senders >= 1, servers >= 1, exec_s > 0 and think_s >= 0")
    if think_s == 0:  # everybody is always at the station
        probabilities = np.zeros(senders)
        probabilities[-1] = 1.0
    else:
        weights = _log_weights(senders - 1, think_s, exec_s, servers)
        probabilities = np.exp(weights - weights.max())
        probabilities /= probabilities.sum()
    k = np.arange(senders, dtype=np.float64)
    response_s = float(exec_s * np.sum(probabilities * np.maximum(1.0, (k + 1.0) / servers)))
    throughput_per_s = senders / (think_s + response_s)
    return ClosedStation(
        response_s=response_s,
        throughput_per_s=throughput_per_s,
        mean_at_station=throughput_per_s * response_s,
    )
