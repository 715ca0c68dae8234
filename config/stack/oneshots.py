"""Run the management commands that `up` needs between the servers and our own processes."""

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from config.stack import code
from config.stack.console import Console
from config.stack.errors import PartError
from config.stack.parts import fleet
from config.stack.site import ROOT, TAG_PART, TAG_STACK, Site, read_json, write_json

MANAGE_TIMEOUT_S = 600.0
LOG_TAIL_LINES = 15


class OneShots:
    """Run them when what they depend on changed, and remember for which state they ran."""

    def __init__(self, site: Site, console: Console, given: Mapping[str, str]) -> None:
        self.site = site
        self.console = console
        self.given = given
        # Beside the data that it describes, so that both are deleted together.
        self.mark = site.data_dir / "oneshots.json"
        self.state = {"code": code.fingerprint(), "database": site.environment["DATABASE_URL"]}

    def code_changed(self) -> bool:
        """Return whether the code changed since the tables were last migrated, here and on this
        database."""
        return read_json(self.mark).get("migrate") != self.state

    def migrate(self) -> None:
        self._manage("migrate", "--noinput")
        self._remember("migrate")

    def load_demo(self) -> None:
        traffic = fleet.traffic_file(self.site)
        if read_json(self.mark).get("load_demo") != self.state or not traffic.exists():
            traffic.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._manage("load_demo", "--traffic", str(traffic))
            self._remember("load_demo")

    def enrol(self) -> None:
        """Give each agent of the demo's fleet a credential and an address; credentials that still
        work stay."""
        addresses = fleet.addresses(self.site)
        state = {**self.state, "addresses": addresses}
        if read_json(self.mark).get("enrol") != state or not fleet.enrolled(self.site):
            folder = fleet.credentials_dir(self.site)
            given = [
                word for name, at in addresses.items() for word in ("--address", f"{name}={at}")
            ]
            self._manage("enrol_agents", "--system", fleet.SYSTEM, "--out", str(folder), *given)
            self._remember("enrol", state)

    def _remember(self, name: str, state: Mapping[str, object] | None = None) -> None:
        write_json(self.mark, {**read_json(self.mark), name: state or self.state})

    def _manage(self, *arguments: str) -> None:
        """Run one management command to its end; its output goes to a log of its own."""
        name = arguments[0]
        log = self.site.log_file(name)
        began = time.monotonic()
        with log.open("w", encoding="utf-8") as stream:
            child = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), *arguments],
                cwd=ROOT,
                env={
                    **self.given,
                    **self.site.environment,
                    TAG_STACK: self.site.id,
                    TAG_PART: "manage",
                },
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = child.wait(MANAGE_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                if child.poll() is None:
                    child.kill()
                    child.wait()
        if status != 0:
            how = "did not end in time" if status is None else f"ended with status {status}"
            raise PartError(
                f"`manage.py {name}` {how}\n--- the end of {log}\n{tail(log)}\n---\n"
                f"What to do: correct the cause above, then run `make up` again; "
                f"`python -m config.stack logs {name}` shows all of it."
            )
        self.console.part(name, "done", seconds=time.monotonic() - began)


def tail(path: Path, lines: int = LOG_TAIL_LINES) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "(empty)"
