"""Determine by its name which measurement a resource of the model means."""

WORDS = {
    "cpu": ("cpu", "core"),
    "storage": ("storage", "disk", "log"),
    "network": ("network", "bandwidth", "nic"),
}


def measure_of(resource: str) -> str | None:
    """Return `cpu`, `storage` (bytes logged per second), `network` (bytes per second), or None."""
    name = resource.lower()
    for measure, words in WORDS.items():
        if any(word in name for word in words):
            return measure
    return None
