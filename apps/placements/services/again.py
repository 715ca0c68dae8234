"""Place a topic again by what was measured of the placement in force."""

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.placements.models import Placement
from apps.placements.selectors.problem import CODE
from apps.placements.selectors.rounds import Rounds
from apps.placements.services.computation import KIND
from apps.runs.models import Run
from apps.runs.services.computations import computation_start
from apps.topology.models import Broker


def placement_again(*, placement: Placement, actor: User | None, note: str = "") -> Run:
    """Freeze the topic as it is now with what is measured of this placement, and open a run on it
    by the same method.

    Raises Conflict: `not_in_force`, `not_measured` (nothing is bounded yet, or agents are silent),
    and ApplicationError for what placing the topic refuses.
    """
    run = placement.run
    if placement.topic is None:
        raise Conflict(CODE, Rounds(placement).topic_is_gone)
    # Of brokers without a publish rate nobody needs to be kept away.
    drained = Broker.objects.filter(
        system=placement.system,
        name__in=placement.drained_brokers,
        publish_rate_max_per_s__isnull=False,
    )
    return computation_start(
        KIND,
        system=placement.system,
        actor=actor,
        topic=placement.topic,
        method=run.method,
        parameters=run.parameters,
        drained_brokers=list(drained),
        seed=run.seed,
        time_limit_s=run.time_limit_s,
        note=note,
        measured_of=placement,
    )
