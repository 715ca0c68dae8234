"""Run the demo's traffic: an agent beside each broker, and publishers and consumers in one
process.

Both are started when the control plane has enrolled the agents and written down the demo's traffic
(`config/stack/oneshots.py`); from then on they need only the brokers to start again.
"""

import json
import signal
import sys
import urllib.request
from pathlib import Path

from agent.drivers.nats.server_config import ADMISSION_ACCOUNT, PUBLISHER_USER
from config.stack.errors import PartError
from config.stack.parts import brokers
from config.stack.parts.base import CHECK_TIMEOUT_S, Command, Layer, Part, settled
from config.stack.site import Site, write_json

SYSTEM = "Harbour"
_ADVICE = "Read its log. `WEIR_FLEET=off make up` leaves the demo's brokers and agents out."


def credentials_dir(site: Site) -> Path:
    """Return where `manage.py enrol_agents` writes one credential per broker."""
    return site.data_dir / "fleet" / "credentials"


def credential_file(site: Site, broker: str) -> Path:
    return credentials_dir(site) / f"{broker}.credential"


def addresses(site: Site) -> dict[str, str]:
    """Return where the other brokers' agents reach each broker."""
    return {name: brokers.address_of(site, name) for name in brokers.NAMES}


def traffic_file(site: Site) -> Path:
    """Return where `manage.py load_demo` writes who publishes and who consumes."""
    return site.data_dir / "fleet" / "traffic.json"


def enrolled(site: Site) -> bool:
    """Return whether the control plane has written everything that the fleet starts with."""
    files = [traffic_file(site), *(credential_file(site, name) for name in brokers.NAMES)]
    return all(path.exists() for path in files)


def _need(path: Path) -> None:
    if not path.exists():
        raise PartError(f"{path} is missing: `make up` has the control plane write it")


def _agent_command(site: Site, broker: str) -> Command:
    home = brokers.home_of(site, broker)
    return Command(
        [
            *(sys.executable, "-m", "agent", "run"),
            *("--control-plane", site.environment["WEIR_WEB_URL"]),
            *("--credential-file", str(credential_file(site, broker))),
            *("--broker", brokers.address_of(site, broker)),
            *("--secrets-file", str(brokers.secrets_file(site, broker))),
            *("--state-dir", str(home / "agent")),
        ]
    )


def _agent_ready(site: Site, broker: str) -> str | None:
    """Check whether the agent listens: until then its broker, which asks it, admits nobody."""
    port = brokers.monitor_port_of(site, broker)
    url = f"http://127.0.0.1:{port}/connz?acc={ADMISSION_ACCOUNT}"
    try:
        with urllib.request.urlopen(url, timeout=CHECK_TIMEOUT_S) as answer:
            there = json.load(answer)["num_connections"] > 0
    except (OSError, ValueError, KeyError) as error:
        return f"broker: {error}"
    return None if there else "not connected to its broker yet"


def _agent(broker: str) -> Part:
    return Part(
        name=f"agent-{broker}",
        layer=Layer.FLEET,
        group="agents",
        needs=(f"broker-{broker}",),
        prepare=lambda site: _need(credential_file(site, broker)),
        command=lambda site: _agent_command(site, broker),
        ready=lambda site: _agent_ready(site, broker),
        stop=((signal.SIGTERM, 5.0),),
        start_timeout_s=60.0,
        advice=_ADVICE,
    )


def _access_file(site: Site) -> Path:
    return site.run_dir / "traffic-access.json"


def _traffic_prepare(site: Site) -> None:
    _need(traffic_file(site))
    write_json(
        _access_file(site),
        {
            "brokers": addresses(site),
            "publisher": PUBLISHER_USER,
            "client_key": site.secrets["clients"],
        },
    )


def _traffic_command(site: Site) -> Command:
    files = ("--traffic", str(traffic_file(site)), "--access", str(_access_file(site)))
    return Command([sys.executable, "-m", "agent.traffic", *files])


def _traffic_ready(site: Site) -> str | None:
    # It expects to be refused; it ends only when its files are wrong.
    return settled(site, "traffic")


AGENTS = tuple(_agent(broker) for broker in brokers.NAMES)
TRAFFIC = Part(
    name="traffic",
    layer=Layer.FLEET,
    needs=tuple(part.name for part in brokers.BROKERS),
    prepare=_traffic_prepare,
    command=_traffic_command,
    ready=_traffic_ready,
    stop=((signal.SIGTERM, 5.0),),
    start_timeout_s=60.0,
    advice=_ADVICE,
)
PARTS = (*brokers.BROKERS, *AGENTS, TRAFFIC)
