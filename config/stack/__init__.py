"""Run the embedded stack: every server that Weir needs, supervised, from one state directory."""

from config.stack.errors import PartError, StackError
from config.stack.stack import Stack
from config.stack.status import Status

__all__ = ["PartError", "Stack", "StackError", "Status"]
