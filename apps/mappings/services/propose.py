"""Make a plan of a map: which flows and streams move, in which order and at which pace."""

from collections.abc import Mapping as Members
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.db import transaction

from apps.accounts.models import User
from apps.catalog.models import Group, Stream
from apps.common.errors import ApplicationError, Conflict
from apps.mappings.domain.sentences import move_effect, moves_counted, plan_reasons
from apps.mappings.models import Mapping
from apps.mappings.selectors.maps import IN_FORCE, MapOf, NotOfMapping, map_of
from apps.mappings.selectors.problem import map_of_catalogue
from apps.mappings.selectors.settings import settings_of
from apps.plans.models import Plan
from apps.plans.services import plan_create
from apps.systems.models import System
from weir.actions.move_flow import KIND as FLOW
from weir.actions.move_stream import KIND as STREAM
from weir.clustering.migration import Move, costs_along, migration
from weir.model.mapping import NOWHERE, MappingProblem
from weir.model.plan import Action, Promise, Source, Step
from weir.model.plan import Plan as Document

KIND = "mapping"
PROMISE = "Cost of unwanted traffic"
MOST_PER_STEP = 500
MOST_MOVES = 2_000
"""Moves of one plan: a person reads it, and the control plane reads it at every step."""
MOST_PACE_S = 86_400.0
TITLE_LENGTH = Plan._meta.get_field("title").max_length or 0


@transaction.atomic
def mapping_plan(
    *,
    mapping: Mapping,
    actor: User | None,
    map: str = "",
    title: str = "",
    moves_per_step: int | None = None,
    answerable: User | None = None,
) -> Plan:
    """Make a draft of the plan that moves flows and streams to where one map has them.

    `map`: its place in the outcome's points; empty: the proposed one. `moves_per_step`: None: as
    many as the system's settings move in a second. Steps keep that pace.

    Raises ApplicationError naming `map` where there is no such map or it moves too much, Conflict
    `plan_is_stale` (the model moved), `nothing_to_change`, and what `plan_create` refuses.
    """
    chosen = _chosen(mapping, map)
    problem = chosen.problem
    system = System.objects.select_for_update().get(pk=mapping.system_id)
    made_for = mapping.run.snapshot.model_version
    if made_for != system.model_version:
        raise Conflict(
            "plan_is_stale",
            f"{mapping} was computed on version {made_for} of the model, which is at version "
            f"{system.model_version} now. Map the flows again and plan the new map.",
        )
    former = map_of_catalogue(system, problem)
    moves = migration(problem, former, chosen.flow_map)
    if not moves:
        raise Conflict(
            "nothing_to_change",
            f"Every flow and stream is where this map of {mapping} has it; there is nothing to "
            "move.",
        )
    if len(moves) > MOST_MOVES:
        message = (
            f"This map moves {moves_counted(moves)}; a plan takes at most {MOST_MOVES:,} moves. "
            "Choose a map that moves less, carry it out and map again."
        )
        raise ApplicationError.of_field("map", message, detail=message)
    pace = _Pace.of(settings_of(system).flows_per_s, moves_per_step)
    ends = [*range(0, len(moves), pace.moves_per_step), len(moves)]
    costs = costs_along(problem, former, moves, ends)
    names = _Names.of(system, problem)
    return plan_create(
        system=system,
        actor=actor,
        document=Document(
            kind=KIND,
            system=str(system.public_id),
            model_version=system.model_version,
            snapshot_hash=mapping.run.snapshot.content_hash,
            source=Source(kind=KIND, id=str(mapping.public_id), name=str(mapping)),
            title=(title.strip() or f"Move {moves_counted(moves)} as {mapping} has it")[
                :TITLE_LENGTH
            ],
            why=plan_reasons(str(mapping), moves, costs, pace.moves_per_step, pace.seconds),
            steps=_steps(problem, moves, ends, names),
            promise=(Promise(name=PROMISE, unit="work/s", before=costs[0], after=costs[-1]),),
            pace_s=pace.seconds,
        ),
        run=mapping.run,
        answerable=answerable,
    )


@dataclass(frozen=True, slots=True)
class _Pace:
    """How many moves a step has, and how long after one the next begins."""

    moves_per_step: int
    seconds: float

    @classmethod
    def of(cls, flows_per_s: float, moves_per_step: int | None) -> "_Pace":
        """Return the pace of so many moves a second; at least one to a step."""
        many = moves_per_step or max(1, min(MOST_PER_STEP, round(flows_per_s)))
        return cls(many, min(many / flows_per_s, MOST_PACE_S))


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of streams and groups by their numbers, as plans have them."""

    streams: Members[int, str]
    groups: Members[int, str]
    problem: MappingProblem

    @classmethod
    def of(cls, system: System, problem: MappingProblem) -> "_Names":
        """Read the names."""
        streams, groups = (
            dict(model.objects.filter(system=system).values_list("number", "name"))
            for model in (Stream, Group)
        )
        return cls(streams, groups, problem)

    def action(self, move: Move, effect: str) -> Action:
        """Return a move as an action."""
        if move.what == "flow":
            kind, member, where, places = FLOW, "flow", "stream", self.streams
            name = self.problem.flows[move.place]
        else:
            kind, member, where, places = STREAM, "stream", "group", self.groups
            name = self.streams[move.place]
        before, after = (
            None if place == NOWHERE else {where: places[place]}
            for place in (move.before, move.after)
        )
        return Action(kind=kind, target={member: name}, before=before, after=after, effect=effect)


def _chosen(mapping: Mapping, name: str) -> MapOf:
    if name == IN_FORCE:
        message = "That map is in force already. Choose another one."
        raise ApplicationError.of_field("map", message, detail=message)
    try:
        return map_of(mapping, name)
    except NotOfMapping as error:
        raise ApplicationError.of_field("map", str(error), detail=str(error)) from error


def _steps(
    problem: MappingProblem, moves: Sequence[Move], ends: Sequence[int], names: _Names
) -> tuple[Step, ...]:
    audiences = problem.interests.audiences
    effects = [
        move_effect(move, 0 if move.what == "stream" else int(audiences[move.place]))
        for move in moves
    ]
    actions = [names.action(move, text) for move, text in zip(moves, effects, strict=True)]
    return tuple(
        Step(actions=tuple(actions[begin:end])) for begin, end in pairwise(ends) if begin < end
    )
