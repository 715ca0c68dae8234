"""What the kernel computes on and what it answers."""

from weir.model.load import loads
from weir.model.problem import ConsumerClass, Flow, Link, Node, Problem
from weir.model.result import Result

__all__ = ["ConsumerClass", "Flow", "Link", "Node", "Problem", "Result", "loads"]
