"""What moves within the map of flows to streams and of streams to groups have in common.

Weir keeps the map itself, so no broker takes part in such a move before it is committed. Which ones
have to follow it then, documents say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from weir.actions._targets import check_different, check_members, check_name, check_target, swapped

if TYPE_CHECKING:
    from weir.model.plan import Action


def brokers(action: Action) -> tuple[str, ...]:
    """Return no broker: the map is kept by Weir, and who follows it depends on its subscribers."""
    return ()


def is_takeaway(action: Action) -> bool:
    """Return False: a move limits nothing."""
    return False


def called(noun: str, name: str) -> str:
    """Return a name behind its noun, which is not said twice: `stream s-3`, `stream-07`."""
    return name if name.casefold().startswith(noun) else f"{noun} {name}"


def move_title(action: Action, moved: str, *, within: str) -> str:
    """Describe a move of `moved` by its values, which name what it is `within`."""
    before, after = (
        "" if value is None else str(value[within]) for value in (action.before, action.after)
    )
    if not after:
        return f"Take {moved} out of {called(within, before)}"
    if not before:
        return f"Put {moved} into {called(within, after)}"
    return f"Move {moved} from {called(within, before)} to {after}"


_OPPOSITES = (
    ("Saves receivers", "Costs receivers"),
    ("can receive it from then on", "can receive it no longer"),
    ("Nobody wants it any more.", "It comes back, though nobody wanted it."),
)
"""What an effect says of a move, and of the move back."""


def moved_back(action: Action) -> Action:
    """Return the inverse of a move, with the opposite effect; applied twice, the action itself."""
    effect = action.effect
    for one, other in _OPPOSITES:
        if one in effect:
            effect = effect.replace(one, other)
        elif other in effect:
            effect = effect.replace(other, one)
    if effect == action.effect:
        return swapped(action)
    return replace(action, before=action.after, after=action.before, effect=effect)


def check_move(action: Action, what: str, *, within: str) -> None:
    """Raise InvalidProblem unless the target names `what` alone and each value names what it is
    `within`, or is None, and the values differ."""
    check_target(action, what)
    for name, value in (("before", action.before), ("after", action.after)):
        if value is not None:
            check_members(value, name, within)
            check_name(value[within], f"{name}.{within}")
    check_different(action)
