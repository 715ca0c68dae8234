"""Read what Weir has carried out by itself, what it would have, and how far it may."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest

from django.db.models import Max, QuerySet

from apps.plans.domain.verdicts import KEPT
from apps.plans.models import ROLLED_BACK, Decision, Plan, PlanEvent
from apps.policies.domain.terms import Terms
from apps.policies.models import AutomaticStop
from apps.policies.selectors import stop_now, terms_for
from apps.recomputation.models import AutomaticDecision, Choice, End, default_subject
from apps.systems.models import System
from weir.lifecycle.plans import PlanCommand, PlanState

DAY = timedelta(hours=24)
RECORD = timedelta(days=30)
"""Over which what Weir did, or would have done, is added up."""
_OVER = [
    command.value
    for command in (
        PlanCommand.EXECUTE,
        PlanCommand.REJECT,
        PlanCommand.GO_STALE,
        PlanCommand.SUPERSEDE,
        PlanCommand.DISCARD,
    )
]
"""What ends the time in which a plan would have been in force and was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How many plans that people approved have gone well, and how many the policy asks for."""

    went_well: int
    needed: int
    went_wrong: bool
    """Whether these count from when a plan that Weir had begun last went wrong."""

    @property
    def is_enough(self) -> bool:
        """Return whether that many have."""
        return self.went_well >= self.needed

    @property
    def text(self) -> str:
        """Return both, as a sentence."""
        since = " since one that Weir began went wrong" if self.went_wrong else ""
        plans = "1 plan of its kind that people approved has brought what it promised"
        if self.went_well != 1:
            plans = (
                f"{self.went_well} plans of its kind that people approved have brought what they "
                "promised"
            )
        return f"{plans}{since}; the policy asks for {self.needed}."


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What plans that Weir would have carried out promised, as long as each would have held."""

    plans: int
    seconds: float
    """For how long one of them would have been in force and was not."""
    gain: float | None
    """Mean relative gain of utility promised over that time; None: no time, or no promise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Automation:
    """How far Weir may act by itself in a system, and what came of it lately."""

    system: System
    terms: Terms
    stop: AutomaticStop | None
    trust: Trust
    begun_lately: int
    since: datetime
    dry_run: DryRun
    ends: dict[str, int]
    """How many plans it carried out came to each end; those that are not over under `""`."""
    left: int
    """Plans that it left to people."""


def decision_rows() -> QuerySet[AutomaticDecision]:
    """Return the decisions with everything that is shown of them."""
    return AutomaticDecision.objects.select_related("system", "firing", "plan", "roll_back")


def decisions_of(system: System) -> QuerySet[AutomaticDecision]:
    """Return the decisions of one system."""
    return AutomaticDecision.objects.filter(system=system)


def trust_in(system: System, terms: Terms, kind: str) -> Trust:
    """Return whether enough plans of a kind have gone well that people approved. Once a plan that
    Weir began was taken back, by whomever, or broke off, only later ones count, and one is the
    least."""
    by_people = Plan.objects.filter(
        system=system, approvals__decision=Decision.APPROVE, approvals__person__isnull=False
    )
    plans = Plan.objects.filter(
        pk__in=by_people.values("pk"),
        kind=kind,
        by_itself=False,
        state=PlanState.EXECUTED,
        verification__judged__in=[judged.value for judged in KEPT],
    )
    began = decisions_of(system).filter(began_at__isnull=False)
    wrong = began.filter(end__in=[End.TAKEN_BACK, End.GIVEN_UP])
    taken_back = Plan.objects.filter(
        system=system,
        source_kind=ROLLED_BACK,
        source_id__in=began.values("plan__public_id"),
        state=PlanState.EXECUTED,
    )
    ends = [
        wrong.aggregate(last=Max("ended_at"))["last"],
        taken_back.aggregate(last=Max("execution__ended_at"))["last"],
    ]
    last = max((end for end in ends if end is not None), default=None)
    if last is not None:
        plans = plans.filter(execution__ended_at__gt=last)
    needed = max(terms.auto_execute_after, int(last is not None))
    return Trust(went_well=plans.count(), needed=needed, went_wrong=last is not None)


def begun_lately(system: System, now: datetime) -> int:
    """Return how many plans Weir has begun by itself within the last 24 hours."""
    return decisions_of(system).filter(began_at__gt=now - DAY).count()


def automation_of(system: System, now: datetime) -> Automation:
    """Return how far Weir may act by itself in a system, and what came of it in 30 days."""
    terms, since = terms_for(system), now - RECORD
    lately = decisions_of(system).filter(created_at__gte=since)
    kind = decisions_of(system).order_by("-id").values_list("plan__kind", flat=True).first()
    counts = Counter(lately.values_list("choice", "end"))
    would = lately.filter(choice=Choice.WOULD_EXECUTE).order_by("created_at", "id")
    return Automation(
        system=system,
        terms=terms,
        stop=stop_now(),
        trust=trust_in(system, terms, kind or default_subject()),
        begun_lately=begun_lately(system, now),
        since=since,
        # Plans are read for their promises alone where they were a dry run's: a few a day.
        dry_run=_dry_run(list(would.select_related("plan")), now),
        ends={end: count for (choice, end), count in counts.items() if choice == Choice.EXECUTE},
        left=counts[Choice.LEAVE, ""],
    )


def _dry_run(rows: Sequence[AutomaticDecision], now: datetime) -> DryRun:
    """Add up what plans would have brought, each until the next one, or until it was over."""
    over = dict(
        PlanEvent.objects.filter(plan__in=[row.plan_id for row in rows], command__in=_OVER)
        .order_by("-id")
        .values_list("plan_id", "at")
    )
    seconds = gained = promised_s = 0.0
    for row, later in zip_longest(rows, rows[1:]):
        ends = [now, over.get(row.plan_id, now), later.created_at if later else now]
        lasted = max(0.0, (min(ends) - row.created_at).total_seconds())
        seconds += lasted
        gain = promised_gain(row.plan)
        if gain is not None:
            gained, promised_s = gained + gain * lasted, promised_s + lasted
    gain = gained / promised_s if promised_s else None
    return DryRun(plans=len(rows), seconds=seconds, gain=gain)


def promised_gain(plan: Plan) -> float | None:
    """Return the gain of utility that a plan promises, relative to before; None: none is known."""
    promise = next((row for row in plan.content.promise if row.name == "utility"), None)
    if promise is None or promise.after is None or not promise.before or promise.before < 0:
        return None
    return (promise.after - promise.before) / promise.before
