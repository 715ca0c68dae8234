"""Clients that think, send and wait, and the servers of their service: the compiled loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weir.compiled import compiled


@compiled
def serve(
    since: int,
    next_s: NDArray[np.float64],
    free_s: NDArray[np.float64],
    until_s: float,
    think_s: float,
    exec_s: float,
    network_s: float,
    rng: np.random.Generator,
    sent_s: NDArray[np.float64],
    client: NDArray[np.int32],
    delay_s: NDArray[np.float64],
) -> tuple[int, int]:
    """Let the services from `since` on work off what is sent before `until_s`.

    `next_s`: when each client of each service sends next; `free_s`: when each server is free. The
    last three arrays are filled. Returns how many requests they hold and the service to go on with.
    """
    count = 0
    for service in range(since, len(next_s)):
        while True:
            sender = np.argmin(next_s[service])
            at_s = next_s[service, sender]
            if at_s >= until_s:
                break
            if count == len(sent_s):
                return count, service
            server = np.argmin(free_s[service])
            ended_s = max(at_s, free_s[service, server]) + exec_s * rng.standard_exponential()
            free_s[service, server] = ended_s
            sent_s[count] = at_s
            client[count] = service * next_s.shape[1] + sender
            # As precise as a clock is; what is rounded takes less room in a file.
            delay_s[count] = np.float32(ended_s - at_s + network_s)
            next_s[service, sender] = ended_s + network_s + think_s * rng.standard_exponential()
            count += 1
    return count, len(next_s)
