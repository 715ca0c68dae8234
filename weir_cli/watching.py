"""Optimize a system, and watch runs, plans and events until they end."""

import json
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx

from weir_api.api.allocations import allocations_create, allocations_retrieve
from weir_api.api.executions import executions_retrieve
from weir_api.api.plans import plans_retrieve
from weir_api.api.runs import runs_cancel_create, runs_retrieve
from weir_api.models.allocation_detail import AllocationDetail
from weir_api.models.execution_detail import ExecutionDetail
from weir_api.models.plan_detail import PlanDetail
from weir_api.models.problem import Problem
from weir_api.models.run import Run
from weir_api.models.run_detail import RunDetail
from weir_api.models.system_allocation_request_request import SystemAllocationRequestRequest
from weir_api.types import UNSET, Unset
from weir_cli.calls import AWAY_S, Operation, Refused, Weir, note
from weir_cli.ending import DONE, NO, NO_ANSWER, CommandError
from weir_cli.listing import find, find_system
from weir_cli.output import as_json, figure, plain

EVERY_S = 1.0
ENDED_RUNS = ("succeeded", "infeasible", "failed", "cancelled")
ENDED_PLANS = ("executed", "rejected", "stale", "superseded", "discarded")
REACHED = {"approved": ("approved", "executing", "executed"), "executed": ("executed",)}
"""What to wait for -> the states of a plan in which that is reached."""
HELD = ("paused", "failed", "stopped")


class Deadline:
    """The time after which a command waits no longer; until then a server may be restarted."""

    def __init__(self, weir: Weir, timeout_s: float | None) -> None:
        self._sleep = weir.sleep
        self._end = None if timeout_s is None else time.monotonic() + timeout_s
        weir.wait_while_away = self.wait

    def wait(self, seconds: float) -> None:
        """Wait a while. Raises CommandError when the time is over."""
        if self._end is not None and time.monotonic() + seconds > self._end:
            raise CommandError("The time is over; it goes on without this command.", NO_ANSWER)
        self._sleep(seconds)


def changes(
    weir: Weir, operation: Operation, expected: type[Any], key: UUID, deadline: Deadline
) -> Iterator[Any]:
    """Read one thing again and again, and yield it whenever it differs."""
    tag: str | Unset = UNSET
    while True:
        answer = weir.answer(operation, key, if_none_match=tag)
        if answer.status_code != 304:
            if not isinstance(answer.parsed, expected):
                raise weir.no_answer_of_weir()
            tag = answer.headers.get("ETag", UNSET)
            yield answer.parsed
        deadline.wait(EVERY_S)


def optimize_command(
    weir: Weir,
    system: str | None,
    *,
    method: str | None,
    time_limit_s: float | None,
    timeout_s: float | None,
    json_output: bool,
) -> int:
    """Compute rates and admitted consumers of a system, and wait for the answer."""
    of = find_system(weir, system)
    body = SystemAllocationRequestRequest(
        system=of.id, method=method or UNSET, time_limit_s=time_limit_s or UNSET
    )
    begun = weir.call(allocations_create.sync_detailed, Run, body=body)
    try:
        run = _followed_run(weir, begun.id, Deadline(weir, timeout_s))
    except KeyboardInterrupt:
        weir.answer(runs_cancel_create.sync_detailed, begun.id)
        note(f"R-{begun.number} is cancelled.")
        raise
    return _outcome_of_run(weir, run, json_output)


def _followed_run(weir: Weir, key: UUID, deadline: Deadline) -> RunDetail:
    shown = ""
    for run in changes(weir, runs_retrieve.sync_detailed, RunDetail, key, deadline):
        if str(run.state) in ENDED_RUNS:
            return run  # type: ignore[no-any-return]
        line = _progress(run)
        if line != shown:
            note(line)
            shown = line
    raise AssertionError("unreachable")


def _progress(run: RunDetail) -> str:
    progress = run.progress.to_dict()
    parts = [f"R-{run.number} {run.state}"]
    if progress.get("phase"):
        parts.append(plain(progress["phase"]))
    if "best_utility" in progress:
        parts.append(f"utility {figure(progress['best_utility'])}")
    return ", ".join(parts)


def _outcome_of_run(weir: Weir, run: RunDetail, json_output: bool) -> int:
    answer = run.answer or None
    if answer is None or str(run.state) != "succeeded":
        print(as_json(run) if json_output else f"R-{run.number} {run.state}: {plain(run.failure)}")
        return NO
    if str(answer.kind) != "allocation":
        print(
            as_json(run)
            if json_output
            else f"{answer.name}: {answer.kind} computed by R-{run.number}"
        )
        return DONE
    allocation = weir.call(allocations_retrieve.sync_detailed, AllocationDetail, answer.id)
    if json_output:
        print(as_json(allocation))
    else:
        bound = allocation.upper_bound
        of = "" if bound is None else f" of at most {figure(bound)}"
        print(
            f"{answer.name} ({allocation.status}): utility {figure(allocation.utility)}{of}, "
            f"{allocation.admitted:,} of {allocation.wanted:,} consumers admitted"
        )
        print(f"weir plan --from {answer.name} proposes it.")
    return NO if str(allocation.status) == "infeasible" else DONE


def watch_command(
    weir: Weir,
    name: str,
    system: str | None,
    *,
    until: str,
    timeout_s: float | None,
    json_output: bool,
) -> int:
    """Follow a plan or a run until it ends; the exit status says how."""
    deadline = Deadline(weir, timeout_s)
    if name[:2].upper() == "R-":
        run = _followed_run(weir, find(weir, "runs", name, system).id, deadline)
        return _outcome_of_run(weir, run, json_output)
    plan = find(weir, "plans", name, system)
    return watch_plan(weir, plan.id, deadline, json_output, until)


def watch_plan(
    weir: Weir, key: UUID, deadline: Deadline, json_output: bool, until: str = "executed"
) -> int:
    """Follow a plan until it is approved or executed, or nothing more becomes of it by itself."""
    wanted = REACHED[until]
    shown: set[Any] = set()
    for plan in changes(weir, plans_retrieve.sync_detailed, PlanDetail, key, deadline):
        for stage in _stages(weir, plan):
            if stage not in shown and not json_output:
                at, text = stage
                print(f"{plain(at)} {text}", flush=True)
            shown.add(stage)
        state = str(plan.state)
        execution = str(plan.execution.state) if plan.execution else ""
        held = state == "executing" and execution in HELD
        if state in wanted or state in ENDED_PLANS or held:
            if json_output:
                print(as_json(plan))
            return DONE if state in wanted and not held else NO
    raise AssertionError("unreachable")


def _stages(weir: Weir, plan: PlanDetail) -> list[tuple[datetime, str]]:
    """Return what has happened to a plan and when, in order."""
    stages = [
        (event.at, f"{plan.name}: {plain(event.actor or 'Weir')} {plain(event.title)}")
        for event in plan.events
    ]
    if plan.execution:
        execution = weir.call(executions_retrieve.sync_detailed, ExecutionDetail, plan.execution.id)
        stages += [
            (action.ended_at, f"{execution.name} {plain(action.title)}: {action.state}")
            for step in execution.steps
            for action in step.actions
            if action.ended_at
        ]
        if execution.failure:
            failed_at = execution.ended_at or execution.started_at or execution.created_at
            stages.append((failed_at, f"{execution.name} {plain(execution.failure)}"))
    return sorted(stages, key=lambda stage: stage[0])


def events_command(
    weir: Weir, system: str | None, types: list[str], after: int | None, json_output: bool
) -> int:
    """Follow events as they happen, until interrupted; each comes once, also past a restart."""
    of = find_system(weir, system) if system is not None else None
    parameters: dict[str, Any] = {"type": types} if types else {}
    if of is not None:
        parameters["system"] = str(of.id)
    if after is not None:
        parameters["after"] = after
    last = ""
    away = 0
    while True:
        headers = {"Last-Event-ID": last} if last else {}
        try:
            for number, event in _stream(weir, parameters, headers):
                last, away = number, 0
                if event is not None:
                    text = json.dumps(event, ensure_ascii=False) if json_output else _event(event)
                    print(text, flush=True)
        except httpx.TransportError as error:
            if not weir.has_answered:
                raise CommandError(f"{weir.url} cannot be reached: {error}.", NO_ANSWER) from error
            note(f"{weir.url} is away; going on when it is back.")
        except CommandError as error:
            if not weir.has_answered or error.status != NO_ANSWER:
                raise
            note(f"{error} Trying again.")
        # A stream that ends as it should is opened again soon, one that fails ever later.
        weir.sleep(AWAY_S[min(away, len(AWAY_S) - 1)])
        away += 1


def _stream(
    weir: Weir, parameters: dict[str, Any], headers: dict[str, str]
) -> Iterator[tuple[str, Any]]:
    """Yield the number and the body of each event of one connection; a number alone has none."""
    http = weir.client.get_httpx_client()
    timeout = httpx.Timeout(10.0, read=60.0)
    with http.stream(
        "GET", "/api/v1/event-stream", params=parameters, headers=headers, timeout=timeout
    ) as response:
        if response.status_code != 200:
            response.read()
            try:
                refusal = Refused(Problem.from_dict(response.json()))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise weir.no_answer_of_weir() from error
            if response.status_code == 429:
                refusal.status = NO_ANSWER
            raise refusal
        weir.has_answered = True
        number, data = "", ""
        for line in response.iter_lines():
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                number = value
            elif name == "data":
                data += value
            elif not line and number:
                yield number, json.loads(data) if data else None
                number, data = "", ""


def _event(event: dict[str, Any]) -> str:
    data = event.get("data", {})
    parts = [
        f"{event.get('time', '')[:19]}Z",
        *(data.get("system_name"), data.get("object_name"), event.get("type")),
        *(data.get("actor_name"), data.get("reason")),
    ]
    return " ".join(plain(part) for part in parts if part)
