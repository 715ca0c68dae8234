"""Say what the API documentation of runs and of every kind of computation has in common."""

from apps.common.api.examples import Example

RERUN = {
    "cancel": "Stop the run.",
    "rerun": "Compute the same again on the same snapshot.",
}
RESULT = {
    "optimal": "Proven to be the best.",
    "solved": "The method ended by itself; a better answer is not ruled out.",
    "not_converged": "The method's own limit came first: the best that it has.",
    "time_limit": "The time limit came first: the best until then.",
    "infeasible": "Nothing is feasible; the reason stands beside it.",
}
NODE_OR_LINK = {"node": "A broker.", "link": "A link between brokers."}

CANCEL: Example = {"reason": "Started with the wrong method."}
