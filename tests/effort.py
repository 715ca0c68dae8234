"""How much the tests try: what a change can wait for, or what `make thorough` has time for."""

import os
from typing import TypeVar

T = TypeVar("T")

THOROUGH = os.environ.get("WEIR_THOROUGH") == "1"


def effort(usual: T, thorough: T) -> T:
    """Return the first in `make test`, the second in `make thorough`."""
    return thorough if THOROUGH else usual
