"""Make a plan of a map: which flows and streams move, in which order and at which pace."""

from collections.abc import Mapping as Members
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from apps.accounts.models import User
from apps.catalog.models import Group, Stream
from apps.common.computing import Queue, turn
from apps.common.connections import one_moment
from apps.common.errors import ApplicationError, Conflict
from apps.common.formatting import counted, figure
from apps.mappings.domain.sentences import move_effect, moves_counted, plan_reasons
from apps.mappings.models import Mapping
from apps.mappings.selectors.in_force import present
from apps.mappings.selectors.maps import IN_FORCE, MapOf, NotOfMapping, map_of
from apps.mappings.selectors.problem import map_of_catalogue
from apps.mappings.selectors.settings import settings_of
from apps.plans.models import Plan
from apps.plans.services import plan_create
from apps.systems.models import System
from weir.actions.move_flow import KIND as FLOW
from weir.actions.move_stream import KIND as STREAM
from weir.clustering.migration import Move, costs_along, migration, moves_between
from weir.model.mapping import NOWHERE, FormerMap, MappingProblem
from weir.model.plan import FILTERING, Action, Promise, Source, Step
from weir.model.plan import Plan as Document

KIND = "mapping"
MOST_PER_STEP = 500
MOST_MOVES = 2_000
"""Moves of one plan: a person reads it, and the control plane reads it at every step."""
MOST_PACE_S = 86_400.0
_PLANS = Queue("Another plan of a map is being made. Try again in a few seconds.", wait_s=20.0)
TITLE_LENGTH = Plan._meta.get_field("title").max_length or 0


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
    many as the system's settings move in a second. Steps keep that pace. Prices are of the rates
    and weights of now.

    Raises ApplicationError naming `map` where there is no such map or it moves too much, and
    `moves_per_step` where the pace would need pauses of more than a day; Conflict `plan_is_stale`
    (the model moved), `nothing_to_change`, and what `plan_create` refuses.
    """
    goal = _chosen(mapping, map).flow_map
    with one_moment():
        system = System.objects.get(pk=mapping.system_id)
        _check_model(mapping, system)
        # Nobody waits for this: what moves meanwhile, `plan_create` finds.
        problem = _problem(mapping, system)
        former = map_of_catalogue(system, problem)
        names = _Names.of(system, problem)
        pace = _Pace.of(settings_of(system).flows_per_s, moves_per_step)
    _check_count(mapping, *moves_between(former, goal))
    with turn(_PLANS):
        moves = migration(problem, former, goal)
        costs = _costs(problem, former, moves, pace.moves_per_step)
    ends = [*range(0, len(moves), pace.moves_per_step), len(moves)]
    lacking = [_is_lacking(former, move) for move in moves]
    audiences = problem.interests.audiences
    actions = [
        names.action(
            move,
            move_effect(move, int(audiences[move.place]) if is_lacking else 0),
        )
        for move, is_lacking in zip(moves, lacking, strict=True)
    ]
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
            why=plan_reasons(
                str(mapping),
                moves,
                costs,
                lacking=sum(lacking),
                moves_per_step=pace.moves_per_step,
                pace_s=pace.seconds,
            ),
            steps=tuple(Step(actions=tuple(actions[a:b])) for a, b in pairwise(ends) if a < b),
            promise=(Promise(name=FILTERING, unit="work/s", before=costs[0], after=costs[-1]),),
            pace_s=pace.seconds,
        ),
        run=mapping.run,
        answerable=answerable,
    )


def _check_model(mapping: Mapping, system: System) -> None:
    made_for = mapping.run.snapshot.model_version
    if made_for != system.model_version:
        raise Conflict(
            "plan_is_stale",
            f"{mapping} was computed on version {made_for} of the model, which is at version "
            f"{system.model_version} now. Map the flows again and plan the new map.",
        )


def _problem(mapping: Mapping, system: System) -> MappingProblem:
    """Return the problem at the rates and weights of now; of the same model, so that flows, users
    and interests are those that were mapped."""
    now = present(system)
    if now.problem is None or now.stamp.model_version != system.model_version:
        raise Conflict("plan_is_stale", f"The model of {system} is being edited. Map again.")
    return now.problem


def _check_count(mapping: Mapping, flows: int, streams: int) -> None:
    if not flows + streams:
        raise Conflict(
            "nothing_to_change",
            f"Every flow and stream is where this map of {mapping} has it; there is nothing to "
            "move.",
        )
    if flows + streams > MOST_MOVES:
        moves = f"{counted(flows, 'flow')} and {counted(streams, 'stream')}"
        message = (
            f"This map moves {moves}; a plan takes at most {MOST_MOVES:,} moves. "
            "Choose a map that moves less, carry it out and map again."
        )
        raise ApplicationError.of_field("map", message, detail=message)


def _costs(
    problem: MappingProblem, former: FormerMap, moves: Sequence[Move], moves_per_step: int
) -> list[float]:
    """Return what the map costs before the first step and after each, work/s: exactly at both ends,
    between them by the sum of what moves save."""
    first, last = costs_along(problem, former, moves, [0, len(moves)])
    saved = list(accumulate(move.saves for move in moves))
    between = [first - saved[at - 1] for at in range(moves_per_step, len(moves), moves_per_step)]
    return [first, *between, last]


def _is_lacking(former: FormerMap, move: Move) -> bool:
    """Return whether the move brings a flow that nobody receives to those who want it."""
    if move.what == "stream" or move.after == NOWHERE:
        return False
    return move.before == NOWHERE or bool(former.group_of[move.before] == NOWHERE)


@dataclass(frozen=True, slots=True)
class _Pace:
    """How many moves a step has, and how long after one the next begins."""

    moves_per_step: int
    seconds: float

    @classmethod
    def of(cls, flows_per_s: float, moves_per_step: int | None) -> "_Pace":
        """Return the pace of so many moves a second, at least one to a step. Raises
        ApplicationError."""
        many = moves_per_step or max(1, min(MOST_PER_STEP, int(flows_per_s + 0.5)))
        if many / flows_per_s > MOST_PACE_S:
            message = (
                f"So many moves need a pause of more than a day at the system's pace, "
                f"{figure(flows_per_s)} flows a second. Give at most "
                f"{int(MOST_PACE_S * flows_per_s):,}."
            )
            raise ApplicationError.of_field("moves_per_step", message, detail=message)
        return cls(many, many / flows_per_s)


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of streams and groups by their numbers, as plans have them."""

    streams: Members[int, str]
    groups: Members[int, str]
    problem: MappingProblem

    @classmethod
    def of(cls, system: System, problem: MappingProblem) -> "_Names":
        """Read the names of all streams and groups."""
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
