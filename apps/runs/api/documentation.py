"""Say what is the same in the published API of every kind of computation."""

from apps.common.api.examples import Example

RERUN = {
    "cancel": "Stop the run.",
    "rerun": "Compute the same again on the same snapshot.",
}
CANCEL: Example = {"reason": "Started with the wrong method."}
