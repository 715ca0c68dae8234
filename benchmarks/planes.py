"""The agent's data plane alone, in a process of its own, so that its processor time can be told.

    python -m benchmarks.planes URL [gated]      flows `core` and `rel` come in and are delivered

`gated`: through gates that hold nothing, so that every message's wait is measured, in the window of
the last minute and in the profile of a part of a bucket.

Reads `cpu` from its input and answers with the processor time it has used.
"""

from __future__ import annotations

import sys

import uvloop

from agent.drivers.nats.driver import NatsDriver
from agent.profile import ProfileKey
from agent.router import Router
from benchmarks.relays import until_asked
from weir.coordination.tables import Tables
from weir.coordination.wire import Delivery, FlowSpec, Gate

FLOWS = {"core": Delivery.BEST_EFFORT, "rel": Delivery.RELIABLE}
OPEN = Gate(rate_per_s=1e9, burst=1e9)
PROFILED = ProfileKey(rate_per_s=1e9, size=1e9, publishers=None, is_settled=True)


async def plane(url: str, *, gated: bool) -> None:
    """Forward until the input ends."""
    driver = NatsDriver(url=url, broker="bench")
    await driver.open()
    router = Router(driver, tables=Tables())
    router.start()
    if gated:
        router.flows.set_profiles(dict.fromkeys(FLOWS, PROFILED))
    for flow, delivery in FLOWS.items():
        router.flows.set_gate(flow, OPEN if gated else None)
        await router.flows.ensure_flow(flow, FlowSpec(delivery=delivery, ingress=True))
    await router.flows.set_local(FLOWS)
    await until_asked()
    await router.close()
    await driver.close()


if __name__ == "__main__":
    uvloop.run(plane(sys.argv[1], gated="gated" in sys.argv[2:]))
