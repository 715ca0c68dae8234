"""What the contract test of drivers needs of each product: one file per product, found by folder.

A file is named like its folder in `agent/drivers` and defines `System` and `Guarded`, as the
protocols below describe them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Protocol

from agent.drivers.base import Driver
from weir.coordination.wire import Delivery
from weir.plugins import discover


class System(Protocol):
    """Two brokers, a and b, that let everybody in."""

    nobody: str
    """An address at which no broker is."""

    def __init__(self, directory: Path) -> None:
        """Start the brokers; what they store is below the directory."""

    def address(self, name: str) -> str:
        """Return the address of a broker."""

    async def driver(self, name: str) -> Driver:
        """Return an open driver for a broker."""

    async def publish(self, name: str, flow: str, delivery: Delivery, count: int) -> None:
        """Send the messages 1 to `count` to the flow's ingress, as its publishers do."""

    def stop(self, name: str) -> None:
        """Let nobody reach this broker any more."""

    async def end(self) -> None:
        """Close the drivers and stop the brokers."""


class Guarded(Protocol):
    """One broker, a, that lets in whom its agent admits, and any number of drivers for it."""

    def __init__(self, directory: Path) -> None:
        """Start the broker; what it stores is below the directory."""

    async def driver(self) -> Driver:
        """Return one more open driver for the broker."""

    async def publish(self, flow: str, payloads: Sequence[bytes]) -> int:
        """Send reliable messages to the ingress, as somebody who may; return how many were
        refused."""

    async def ask(self, name: str, consumer: str) -> bool:
        """Return whether a consumer of a class is let in; it stays."""

    async def end(self) -> None:
        """Close drivers and consumers, and stop the broker."""


def products() -> Mapping[str, ModuleType]:
    """Map the name of each product to its file in this folder."""
    return discover("tests.agent.drivers.products")
