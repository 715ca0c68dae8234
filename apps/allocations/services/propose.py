"""Make a plan of an allocation: what has to change, in which order, and why."""

from django.db import transaction

from apps.accounts.models import User
from apps.allocations.domain.judgement import Judged
from apps.allocations.domain.judgement import judged as judge_proposal
from apps.allocations.domain.proposal import LIMIT, RATE, Proposal
from apps.allocations.domain.sentences import OVERLOAD, envelope, promise, why
from apps.allocations.domain.steps import plan_steps
from apps.allocations.models import Allocation
from apps.allocations.selectors.proposed import proposal_of
from apps.common.errors import Conflict
from apps.plans.domain.structure import counted
from apps.plans.models import Plan
from apps.plans.services import plan_create
from apps.policies.domain.rules import below_enactment_threshold
from apps.policies.domain.terms import Terms
from apps.policies.selectors import terms_for
from apps.runs.selectors import run_note
from apps.systems.models import System
from weir.model.plan import Plan as Document
from weir.model.plan import Source, Step

KIND = "allocation"


@transaction.atomic
def allocation_plan(
    *,
    allocation: Allocation,
    actor: User | None,
    title: str = "",
    judged: bool = True,
    answerable: User | None = None,
) -> Plan:
    """Make a draft that would bring into force what the system's policy leaves of the
    allocation.

    `judged` false: all of it, whatever band, dwell and charge say; the threshold still holds.

    Raises Conflict: `no_system` (the problem came with the request), `plan_is_stale` (the model has
    moved since), `nothing_to_change` (all of it is in force, or too little would be gained).
    """
    if allocation.system_id is None:
        raise Conflict(
            "no_system", f"{allocation} belongs to no system; there is nothing to change it in."
        )
    system = System.objects.select_for_update().get(pk=allocation.system_id)
    made_for = allocation.run.snapshot.model_version
    if made_for != system.model_version:
        raise Conflict(
            "plan_is_stale",
            f"{allocation} was computed on version {made_for} of the model, which is at version "
            f"{system.model_version} now. Optimize again and plan the new allocation.",
        )
    proposal, terms = proposal_of(allocation, system), terms_for(system)
    verdict = judge_proposal(proposal, terms) if judged else Judged(proposal=proposal)
    proposal = verdict.proposal
    steps = plan_steps(proposal)
    _check_worth(verdict, steps, terms)
    document = Document(
        kind=KIND,
        system=str(system.public_id),
        model_version=system.model_version,
        snapshot_hash=allocation.run.snapshot.content_hash,
        source=Source(kind=KIND, id=str(allocation.public_id), name=str(allocation)),
        title=title.strip() or _title(proposal, steps),
        why=(*_cause(allocation), *why(proposal), *verdict.why),
        steps=steps,
        envelope=envelope(proposal),
        promise=promise(proposal),
        left_out=verdict.left_out,
    )
    return plan_create(
        system=system,
        actor=actor,
        document=document,
        run=allocation.run,
        answerable=answerable,
    )


def _cause(allocation: Allocation) -> tuple[str, ...]:
    """Return why it was computed, where a schedule or trigger asked for it."""
    note = run_note(allocation.run)
    return (note,) if note else ()


def _check_worth(verdict: Judged, steps: tuple[Step, ...], terms: Terms) -> None:
    """Refuse a plan that changes nothing, or gains less than the policy's threshold.

    The threshold only speaks where before and after compare: everything has a value in force,
    nothing has to be lifted, and what is in force still fits the model.
    """
    proposal = verdict.proposal
    if not steps and verdict.left_out:
        raise Conflict(
            "nothing_to_change",
            f"Nothing of {proposal.name} is worth a change now. {' '.join(verdict.why)}",
        )
    if not steps:
        raise Conflict(
            "nothing_to_change", f"All rates and limits of {proposal.name} are in force already."
        )
    lifts = any(action.after is None for step in steps for action in step.actions)
    before, load = proposal.utility_now, proposal.highest_share_now
    if before is None or load is None or lifts or load > OVERLOAD or proposal.structure:
        return
    sentence = below_enactment_threshold(
        terms, utility_before=before, utility_after=proposal.utility
    )
    if sentence:
        raise Conflict("nothing_to_change", f"{proposal.name} is not worth a change. {sentence}")


def _title(proposal: Proposal, steps: tuple[Step, ...]) -> str:
    """Return a title such as `Enact A-3: 9 rates, 27 limits`."""
    kinds = [action.kind for step in steps for action in step.actions]
    parts = [counted(proposal.structure)] if proposal.structure else []
    parts += [
        f"{count} {noun}{'' if count == 1 else 's'}"
        for count, noun in ((kinds.count(RATE), "rate"), (kinds.count(LIMIT), "limit"))
        if count
    ]
    return f"Enact {proposal.name}: {', '.join(parts)}"
