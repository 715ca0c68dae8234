"""Name addresses at which nothing listens, for commands that need no server (`allocate`, types)."""

from collections.abc import MutableMapping

ADDRESSES = {
    "DATABASE_URL": "postgres://weir@127.0.0.1:1/weir",
    "WEIR_BROKER_URL": "redis://127.0.0.1:1/0",
    "WEIR_SPARK_REMOTE": "sc://127.0.0.1:1",
    "WEIR_SECRET_KEY": "signs-nothing-that-lasts",
    "WEIR_DATA_DIR": "var/offline",
    "WEIR_WEB_URL": "http://127.0.0.1:1",
}


def fill(environment: MutableMapping[str, str]) -> None:
    """Add what is missing; variables that are set, directly or as NAME_FILE, stay."""
    for name, value in ADDRESSES.items():
        if f"{name}_FILE" not in environment:
            environment.setdefault(name, value)
