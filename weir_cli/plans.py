"""Propose plans, show them, decide about them and carry them out."""

import sys
from collections.abc import Iterator
from typing import Any

from weir_api.api.allocations import allocations_plan_create
from weir_api.api.mappings import mappings_plan_create
from weir_api.api.placements import placements_plan_create
from weir_api.api.plans import (
    plans_approve_create,
    plans_create,
    plans_discard_create,
    plans_execute_create,
    plans_partial_update,
    plans_reject_create,
    plans_retrieve,
    plans_roll_back_create,
    plans_submit_create,
    plans_withdraw_create,
)
from weir_api.models.allocation_plan_request import AllocationPlanRequest
from weir_api.models.approve_request import ApproveRequest
from weir_api.models.execution_detail import ExecutionDetail
from weir_api.models.mapping_plan_request_request import MappingPlanRequestRequest
from weir_api.models.model_plan_request import ModelPlanRequest
from weir_api.models.patched_plan_edit_request import PatchedPlanEditRequest
from weir_api.models.placement_plan_request_request import PlacementPlanRequestRequest
from weir_api.models.plan_detail import PlanDetail
from weir_api.models.plan_reason_request import PlanReasonRequest
from weir_api.models.reject_request import RejectRequest
from weir_api.models.roll_back_request import RollBackRequest
from weir_cli.calls import Weir
from weir_cli.ending import DONE, NO, CommandError
from weir_cli.listing import find, find_system
from weir_cli.output import as_json, counted, exact, plain, table

# The letter of an answer's name -> how it is listed, and what makes a plan of it.
SOURCES: dict[str, tuple[str, Any, Any]] = {
    "A": ("allocations", allocations_plan_create, AllocationPlanRequest),
    "M": ("mappings", mappings_plan_create, MappingPlanRequestRequest),
    "L": ("placements", placements_plan_create, PlacementPlanRequestRequest),
}
WITH_REASON: dict[str, Any] = {
    "submit": plans_submit_create,
    "withdraw": plans_withdraw_create,
    "discard": plans_discard_create,
}


def plan_command(
    weir: Weir,
    system: str | None,
    source: str | None,
    *,
    title: str,
    ticket: str,
    submit: bool,
    json_output: bool,
) -> int:
    """Make the draft of a plan: of the model as it is, or of a computed answer."""
    plan = _made(weir, system, source, title, ticket)
    if submit and str(plan.state) == "draft":
        plan = _send(weir, plans_submit_create, plan, PlanReasonRequest())
    _print(plan, json_output)
    return DONE


def _made(
    weir: Weir, system: str | None, source: str | None, title: str, ticket: str
) -> PlanDetail:
    if source is None:
        body = ModelPlanRequest(
            system=find_system(weir, system).id, title=title, change_ticket=ticket
        )
        return weir.call(plans_create.sync_detailed, PlanDetail, body=body)
    letter = source[:1].upper()
    if letter not in SOURCES:
        raise CommandError(
            f'No answer is called "{source}"; they are A-1 (allocation), L-1 (placement) '
            "or M-1 (mapping)."
        )
    kind, operation, form = SOURCES[letter]
    row = find(weir, kind, source, system)
    body = form(title=title) if title else form()
    plan = weir.call(operation.sync_detailed, PlanDetail, row.id, body=body)
    return _with_ticket(weir, plan, ticket) if ticket else plan


def _with_ticket(weir: Weir, plan: PlanDetail, ticket: str) -> PlanDetail:
    return weir.call(
        plans_partial_update.sync_detailed,
        PlanDetail,
        plan.id,
        body=PatchedPlanEditRequest(change_ticket=ticket),
        if_match=_version(plan),
    )


def find_plan(weir: Weir, name: str, system: str | None) -> PlanDetail:
    """Return the plan of this name or id, whole."""
    row = find(weir, "plans", name, system)
    return weir.call(plans_retrieve.sync_detailed, PlanDetail, row.id)


def show_command(plan: PlanDetail, json_output: bool) -> int:
    """Show a plan as those who approve it read it."""
    _print(plan, json_output)
    return DONE


def decide_command(
    weir: Weir, command: str, plan: PlanDetail, *, reason: str, json_output: bool
) -> int:
    """Submit, withdraw, discard or reject a plan, or propose the one that takes it back."""
    if command == "roll-back":
        undo = _send(weir, plans_roll_back_create, plan, RollBackRequest(reason=reason))
        _print(undo, json_output)
        return DONE
    if command == "reject":
        after = _send(weir, plans_reject_create, plan, RejectRequest(comment=reason))
    else:
        after = _send(weir, WITH_REASON[command], plan, PlanReasonRequest(reason=reason))
    _print_state(after, json_output)
    return DONE


def approve_command(
    weir: Weir, plan: PlanDetail, *, content_hash: str, comment: str, json_output: bool
) -> int:
    """Approve a plan's content: that of a hash, or the one that is shown and agreed to."""
    if not content_hash:
        if not sys.stdin.isatty() or json_output:
            raise CommandError(
                "Name what was read: --hash, the content hash that `weir show` prints at its end."
            )
        _print(plan, json_output=False)
        print("Approve this? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return NO
        content_hash = plan.content_hash
    body = ApproveRequest(content_hash=content_hash, comment=comment)
    _print_state(_send(weir, plans_approve_create, plan, body), json_output)
    return DONE


def execute(weir: Weir, plan: PlanDetail, reason: str) -> ExecutionDetail:
    """Begin to carry an approved plan out."""
    return weir.call(
        plans_execute_create.sync_detailed,
        ExecutionDetail,
        plan.id,
        body=PlanReasonRequest(reason=reason),
        if_match=_version(plan),
    )


def _send(weir: Weir, operation: Any, plan: PlanDetail, body: Any) -> PlanDetail:
    """Command a plan at the version that was read."""
    return weir.call(
        operation.sync_detailed, PlanDetail, plan.id, body=body, if_match=_version(plan)
    )


def _version(plan: PlanDetail) -> str:
    return f'"{plan.version}"'


def _print_state(plan: PlanDetail, json_output: bool) -> None:
    if json_output:
        print(as_json(plan))
        return
    state = str(plan.state).replace("_", " ")
    missing = plan.approvals_needed - plan.approvals_given
    waits = f", {counted(missing, 'approval')} missing" if state == "pending review" else ""
    print(f"{plan.name} of {plain(plan.system_name)}: {state}{waits}")


def _print(plan: PlanDetail, json_output: bool) -> None:
    print(as_json(plan) if json_output else "\n".join(_lines(plan)))


def _lines(plan: PlanDetail) -> Iterator[str]:
    state = str(plan.state).replace("_", " ")
    yield f"{plan.name} of {plain(plan.system_name)}: {plain(plan.title)}"
    yield f"{state}; {plan.approvals_given} of {counted(plan.approvals_needed, 'approval')}"
    if plan.stale_because:
        yield f"stale: {plain(plan.stale_because)}"
    if plan.change_ticket:
        yield f"change ticket: {plain(plan.change_ticket)}"
    for sentence in plan.why:
        yield f"  {plain(sentence)}"
    if plan.changes:
        yield ""
        rows = [
            (
                one.step + 1,
                one.kind.replace("_", " "),
                one.label,
                _side(one.before, one.was),
                _side(one.after, one.becomes),
                one.unit,
            )
            for one in plan.changes
        ]
        yield table(rows, ("step", "change", "of", "before", "after", "unit"))
    if plan.promise:
        yield ""
        yield table(
            [(one.name, _side(one.before), _side(one.after), one.unit) for one in plan.promise],
            ("promise", "before", "after", "unit"),
        )
    yield ""
    if plan.hurt:
        yield plain(plan.hurt.sentence)
    for check in plan.checks:
        if str(check.state) != "pass":
            yield f"{check.state}: {plain(check.title)}: {plain(check.detail)}"
    if plan.would_overload:
        yield f"overload: {plain(plan.would_overload)}"
    if str(plan.state) in ("draft", "pending_review", "approved"):
        yield plain(plan.policy.window_text)
    yield f"content {plan.content_hash}"


def _side(value: float | None, text: str = "") -> str:
    return text or ("" if value is None else exact(value))
