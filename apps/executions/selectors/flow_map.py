"""Read the map in force as settings: flows in streams, streams in groups.

Weir itself keeps it, in the catalogue: no broker is asked for it, and it has no rows among
settings.
"""

from collections.abc import Iterable, Sequence

from apps.catalog.models import Stream, Topic
from apps.systems.models import Entity, System
from weir.actions import InForce, SettingKey, same_value, setting_key, target_key
from weir.actions.move_flow import KIND as FLOW
from weir.actions.move_stream import KIND as STREAM
from weir.model.plan import Action, Step, Value

MAP_KINDS = frozenset({FLOW, STREAM})
"""The kinds of action that change the map."""
MEMBERS = {FLOW: ("flow", "stream"), STREAM: ("stream", "group")}
"""Kind -> the member of its target that names what moves, and the member of its value that says
where it is."""
MODELS: dict[str, type[Entity]] = {FLOW: Topic, STREAM: Stream}


def changes_map(action: Action) -> bool:
    """Return whether the action changes the map and nothing that agents enforce."""
    return action.kind in MAP_KINDS


def without_moves(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps without moves of the map, which load no broker and no link otherwise."""
    return tuple(
        Step(actions=tuple(action for action in step.actions if not changes_map(action)))
        for step in steps
    )


def without_changed_moves(
    present: InForce, steps: Sequence[Step]
) -> tuple[tuple[Step, ...], list[str]]:
    """Return the steps without moves of what somebody has moved since, and the names of those."""
    left: list[str] = []
    kept: list[Step] = []
    for step in steps:
        actions = []
        for action in step.actions:
            place = present.settings.get(setting_key(action))
            if changes_map(action) and not same_value(place, action.before):
                left.append(action.target[MEMBERS[action.kind][0]])
            else:
                actions.append(action)
        if actions:
            kept.append(Step(actions=tuple(actions)))
    return tuple(kept), left


def names_moved(actions: Iterable[Action]) -> dict[str, set[str]]:
    """Return what these actions move, by their kind: names of flows, names of streams."""
    names: dict[str, set[str]] = {kind: set() for kind in MEMBERS}
    for action in actions:
        if changes_map(action):
            names[action.kind].add(action.target[MEMBERS[action.kind][0]])
    return names


def places_in_force(system: System, steps: Iterable[Step]) -> dict[SettingKey, Value]:
    """Return where the flows and streams that these steps move are now; what has no place is
    absent. No query where nothing moves."""
    places: dict[SettingKey, Value] = {}
    for kind, names in names_moved(a for step in steps for a in step.actions).items():
        if not names:
            continue
        member, where = MEMBERS[kind]
        rows = MODELS[kind]._default_manager.filter(
            **{"system": system, "name__in": names, f"{where}__isnull": False}
        )
        for name, place in rows.order_by().values_list("name", f"{where}__name"):
            places[kind, target_key({member: name})] = {where: place}
    return places
