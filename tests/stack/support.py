"""What the tests of the stack share: a clean environment, the command line, who still lives."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from config.stack import Stack, proc
from config.stack.site import ROOT, Site

REPLACED = ("DATABASE_URL", "WEIR_BROKER_URL", "WEIR_SPARK_REMOTE", "NATS_URL")
MakeStack = Callable[..., Stack]


def plain_environment(**more: str) -> dict[str, str]:
    """Ours, without what another stack or the settings of the suite have put there."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in REPLACED and not name.startswith(("WEIR_", "SPARK_"))
    }
    return {**kept, **more}


def living(state_dir: Path) -> list[int]:
    """Every process that belongs to the stack in this state directory."""
    return proc.tagged([Site.open(state_dir).tag])


def eventually(condition: Callable[[], bool], seconds: float = 15.0) -> bool:
    """Whether the condition came to hold within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def command(state_dir: Path, *arguments: str) -> list[str]:
    name, *rest = arguments
    return [sys.executable, "-m", "config.stack", name, "--state", str(state_dir), *rest]


def run(state_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One command of the stack's command line, to its end."""
    return subprocess.run(
        command(state_dir, *arguments),
        cwd=ROOT,
        env=plain_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
