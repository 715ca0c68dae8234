"""Let parts of a topic's bucket follow its traffic, as a standing order.

While it is in force the control plane moves rate and size between the brokers' parts by what
agents measure; the sums stay those of the parts in force (SRTM, section 5.4). What it decides by
are `window_s`, `period_s` and `least_share`: see `weir.placement.adaptation`. An agent has nothing
to do for it: a broker confirms it by obeying a document of that time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.actions._settings import absent as absent
from weir.actions._settings import apply_edges as apply_edges
from weir.actions._settings import roles as roles
from weir.actions._targets import (
    check_different,
    check_members,
    check_name,
    check_target,
    plain,
    same_value,
    swapped,
)
from weir.errors import InvalidProblem
from weir.placement.adaptation import Params
from weir.reading import encodable, shown

if TYPE_CHECKING:
    from weir.actions._protocol import ProtocolName
    from weir.model.plan import Action, Value

KIND = "adapt_parts"
TITLE = "Adapt parts of a topic's bucket"
SUMMARY = (
    "While it is in force, rate and size move between the brokers' parts by what is measured; "
    "their sums stay."
)
PROTOCOL: ProtocolName = "setting"
FINAL = False
PARAMETERS = ("window_s", "period_s", "least_share")


def brokers(action: Action) -> tuple[str, ...]:
    """Return the brokers whose parts may move."""
    names: set[str] = set()
    for value in (action.before, action.after):
        names.update(() if value is None else value["brokers"])
    return tuple(sorted(names))


def title(action: Action) -> str:
    """Describe the change, such as `Adapt the parts of depth at 3 brokers to its traffic every 1 s,
    by the last 10 s`."""
    flow, before, after = action.target["flow"], action.before, action.after
    if after is None:
        return f"End the adaptation of the parts of {flow}{_at(before)}"
    if before is None:
        return f"Adapt the parts of {flow}{_at(after)} to its traffic {_how(after)}"
    if _how(before, share=True) == _how(after, share=True):
        return f"Adapt the parts of {flow}{_at(after)} to its traffic (was{_at(before)})"
    share = before["least_share"] != after["least_share"]
    return (
        f"Adapt the parts of {flow}{_at(after)} {_how(after, share=share)} "
        f"(was {_how(before, share=share)})"
    )


def undo_title(action: Action) -> str:
    """Return the title of the inverse action."""
    return title(inverse(action))


def inverse(action: Action) -> Action:
    """Return the action that restores the former order."""
    return swapped(action)


def validate(action: Action) -> None:
    """Check that the target names the flow, that times and share are in their ranges, and that
    brokers are sorted and named once each."""
    check_target(action, "flow")
    for name, value in (("before", action.before), ("after", action.after)):
        if value is not None:
            check_members(value, name, *PARAMETERS, "brokers")
            _check_parameters(value, name)
            _check_brokers(value["brokers"], f"{name}.brokers")
    check_different(action)


def is_takeaway(action: Action) -> bool:
    """Return whether the adaptation ends, or leaves brokers out and changes nothing else."""
    before, after = action.before, action.after
    if before is None or after is None:
        return after is None
    fewer = set(after["brokers"]) < set(before["brokers"])
    return fewer and same_value({**before, "brokers": after["brokers"]}, after)


def _check_parameters(value: Value, path: str) -> None:
    try:
        params = Params(**{name: value[name] for name in PARAMETERS})
    except InvalidProblem as error:
        raise InvalidProblem(f"{path}.{error.path}", error.message) from error
    if params.period_s > params.window_s:
        raise InvalidProblem(
            f"{path}.period_s",
            f"must not be above window_s, {params.window_s:g}: a decision would leave out what was "
            "measured before",
        )


def _check_brokers(names: object, path: str) -> None:
    if not isinstance(names, list | tuple):
        raise InvalidProblem(path, f"must be a list of names, not {shown(names)}")
    if not names:
        raise InvalidProblem(path, "must name at least one broker")
    for index, broker in enumerate(names):
        check_name(broker, f"{path}[{index}]")
        encodable(broker, f"{path}[{index}]")
        if index and not names[index - 1] < broker:
            raise InvalidProblem(
                f"{path}[{index}]", "must come after the one before: sort the names, each once"
            )


def _at(value: Value | None) -> str:
    """Return at how many brokers, or at which one."""
    if value is None:
        return ""
    names = value["brokers"]
    return f" at {len(names):,} brokers" if len(names) > 1 else f" at {names[0]}"


def _how(value: Value, *, share: bool = False) -> str:
    text = f"every {plain(value['period_s'])} s, by the last {plain(value['window_s'])} s"
    least = f", {plain(100.0 * value['least_share'])} % for an idle broker"
    return text + least if share else text
