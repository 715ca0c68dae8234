"""One agent's data plane: `python -m tests.agent.acting URL SECRETS INCARNATION [FLOW]`.

Takes the ingress of the reliable flow `rel`, and delivers it here when FLOW names it; else nobody
here wants it, as in an agent whose tables are of another time. Says `acts` once it does, and ends
with `fenced` when somebody newer acts.
"""

import asyncio
import sys
from pathlib import Path

from agent.drivers.base import Fenced
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.server_config import BrokerSecrets
from agent.router import Router
from weir.coordination.tables import Tables
from weir.coordination.wire import Delivery, FlowSpec


async def act(url: str, secrets: str, incarnation: str, *local: str) -> None:
    driver = NatsDriver(url=url, broker="a", secrets=BrokerSecrets.load(Path(secrets)))
    try:
        await driver.open()
        await driver.fence(int(incarnation))
        router = Router(driver, tables=Tables())
        await router.flows.ensure_flow("rel", FlowSpec(delivery=Delivery.RELIABLE, ingress=True))
        await router.flows.set_local(local)
        router.start()
        print("acts", flush=True)
        await driver.fenced()
    except Fenced:
        print("fenced", flush=True)


if __name__ == "__main__":
    asyncio.run(act(*sys.argv[1:]))
