"""`.env.example` lists every variable that Weir reads, and no other."""

import re
from pathlib import Path
from typing import Any

from agent.config import _FLEET_HELP, _HELP, PREFIX
from config.env import read_environment

ROOT = Path(__file__).resolve().parents[2]
LISTED = set(re.findall(r"^#(\w+)=", (ROOT / ".env.example").read_text("utf-8"), re.MULTILINE))
OF_PACKAGES = {"DJANGO_SETTINGS_MODULE", "NUMBA_CACHE_DIR", "SPARK_CONNECT_AUTHENTICATE_TOKEN"}
"""Django, numba and Spark read these by themselves."""


class Asked(dict[str, str]):
    """An environment that remembers which of its variables were asked for."""

    def __init__(self) -> None:
        super().__init__(
            DATABASE_URL="postgres://db/weir",
            WEIR_BROKER_URL="redis://valkey",
            WEIR_SPARK_REMOTE="sc://spark",
            WEIR_SECRET_KEY="long and random",
            WEIR_DATA_DIR="/srv/weir",
            WEIR_WEB_URL="https://weir.example.org",
        )
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name.removesuffix("_FILE"))
        return super().get(name, default)


def asked_by_the_application() -> set[str]:
    environment = Asked()
    read_environment(environment)
    return environment.names


def asked_by_agents() -> set[str]:
    return {PREFIX + option.upper() for option in {*_HELP, *_FLEET_HELP}}


def asked_by_the_stack() -> set[str]:
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "config/stack").rglob("*.py"))
    compose = (ROOT / "docker" / "compose.yaml").read_text("utf-8")
    return {
        *re.findall(r"\.get\(\"([A-Z]+(?:_[A-Z]+)+)\"", sources),
        *(name.removesuffix("_FILE") for name in re.findall(r"\$\{([A-Z_]+)", compose)),
    }


def asked() -> set[str]:
    return asked_by_the_application() | asked_by_agents() | asked_by_the_stack()


def test_every_variable_that_is_read_is_listed() -> None:
    assert asked() - LISTED == set()


def test_every_variable_that_is_listed_is_read() -> None:
    ports = {name for name in LISTED if name.endswith("_PORT")}
    assert LISTED - asked() - OF_PACKAGES == ports - asked()
