"""Read the map in force as settings: flows in streams, streams in groups; and which brokers follow
a move of it.

Weir itself keeps it, in the catalogue: it has no rows among settings. Agents read their places in
documents, and show in observations that they have followed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.catalog.models import Stream, Topic
from apps.executions.models import ExecutionAction
from apps.systems.models import Entity, System
from weir.actions import InForce, SettingKey, same_value, setting_key, target_key
from weir.actions.move_flow import KIND as FLOW
from weir.actions.move_stream import KIND as STREAM
from weir.coordination.wire import HandOver, HandOverPhase, Observed
from weir.lifecycle.steps import ActionState
from weir.model.plan import Action, Step, Value

MAP_KINDS = frozenset({FLOW, STREAM})
"""The kinds of action that change the map."""
MEMBERS = {FLOW: ("flow", "stream"), STREAM: ("stream", "group")}
"""Kind -> the member of its target that names what moves, and the member of its value that says
where it is."""
FOLLOWED_STATES = frozenset({ActionState.COMMITTED, ActionState.DEAD})
"""The states of a move in which brokers follow it."""
LISTED_FLOWS = 3
"""The hand-overs that a sentence describes before it counts the others."""
MODELS: dict[str, type[Entity]] = {FLOW: Topic, STREAM: Stream}


def changes_map(action: Action) -> bool:
    """Return whether the action changes the map and nothing that agents enforce."""
    return action.kind in MAP_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """What agents show of how far they have followed moves of the map."""

    seen: Mapping[str, Observed]
    """Broker -> its newest observation, of agents that were not revoked."""
    live: frozenset[str]
    """Brokers whose agents hold a lease."""

    @property
    def is_awaited(self) -> bool:
        """Return whether any agent says at all which flows it hands over."""
        return any(each.hand_overs is not None for each in self.seen.values())

    def follows(self, row: ExecutionAction) -> frozenset[str] | None:
        """Return the brokers that must follow the move; None: known once it is committed."""
        if not self.is_awaited:
            return frozenset()
        if row.state in (ActionState.PENDING, ActionState.PREPARING):
            return None
        if row.state not in FOLLOWED_STATES:
            return frozenset()
        return frozenset(
            broker
            for broker in row.interests
            if broker in self.seen and self.seen[broker].hand_overs is not None
        )

    def lags(self, row: ExecutionAction) -> dict[str, str]:
        """Return, for each broker that has not followed the move yet, what it does instead."""
        lags = {
            broker: _lag(self.seen[broker], row.interests[broker], row.asked_number)
            for broker in sorted(self.follows(row) or ())
        }
        return {broker: lag for broker, lag in lags.items() if lag}

    def waiting_for(self, row: ExecutionAction) -> list[str]:
        """Return the brokers that the move waits for: a silent one only once it is dead."""
        lags = self.lags(row)
        return [each for each in lags if each in self.live or row.state == ActionState.DEAD]


def _lag(seen: Observed, flows: Iterable[str], asked_number: int | None) -> str:
    """Say what a broker still does before it has followed; empty where it has."""
    # What was seen by an older document proves nothing: there the flow had its former place.
    if asked_number is None or seen.number < asked_number:
        return "it has not taken over the new places yet"
    under_way = [
        _described(flow, hand_over)
        for flow in flows
        if (hand_over := (seen.hand_overs or {}).get(flow)) is not None
        and (hand_over.phase is not HandOverPhase.DONE or hand_over.next is not None)
    ]
    if not under_way:
        return ""
    more = len(under_way) - LISTED_FLOWS
    return ", ".join(under_way[:LISTED_FLOWS]) + (f" and {more:,} more" if more > 0 else "")


def _described(flow: str, hand_over: HandOver) -> str:
    """Describe a hand-over under way, such as `fx.EURO goes from stream 1 to 2 (draining)`."""
    to = hand_over.target if hand_over.next is None else hand_over.next
    return f"{flow} goes from stream {hand_over.source.stream} to {to.stream} ({hand_over.phase})"


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
