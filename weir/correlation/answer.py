"""Answer a frozen activity with the groups that burst together (see weir/kernel.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weir.kernel import Call


def answer(payload: bytes, call: Call) -> bytes:
    """Read a frozen activity, search it, return the answer in its one spelling."""
    raise NotImplementedError
