"""What the kernel computes on and what it answers."""

from weir.model.forwarding import Forwarding
from weir.model.infeasibility import Change, Infeasibility, Relaxation, Shortage
from weir.model.load import loads
from weir.model.problem import ConsumerClass, Flow, Hop, Link, Node, Problem
from weir.model.result import Result
from weir.model.start import Start

__all__ = [
    "Change",
    "ConsumerClass",
    "Flow",
    "Forwarding",
    "Hop",
    "Infeasibility",
    "Link",
    "Node",
    "Problem",
    "Relaxation",
    "Result",
    "Shortage",
    "Start",
    "loads",
]
