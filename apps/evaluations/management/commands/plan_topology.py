"""Plan the steps from one overlay to another: `manage.py plan_topology IN.json --out OUT.json`."""

import json
import time
import uuid
from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand

from apps.common.command_files import (
    ANSWER,
    INFEASIBLE,
    add_solver_arguments,
    check_limits,
    check_writable,
    named_values,
    read_input,
    write_output,
)
from apps.runs.management.command_status import exit_with_status
from apps.runs.services.gateway import ONE_CALL, JobOrder, spark_solve
from weir.codec.transformation import (
    transformation_bytes,
    transformation_from_json,
    transformation_plan_from_dict,
    transformation_plan_to_dict,
)
from weir.errors import InvalidProblem, WeirError
from weir.model.transformation import Transformation, TransformationPlan
from weir.planners import DEFAULT, planners
from weir.planners import planner as find_planner
from weir.plugins import from_dict
from weir.stop import never, time_limit
from weir.transformation.validation import check


class Command(BaseCommand):
    """Read a problem, plan, write the result. docs/formats.md lists the exit statuses."""

    help = "Steps that transform the overlay in IN into its goal (docs/formats.md)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_solver_arguments(parser, methods=planners(), default=DEFAULT)
        parser.add_argument(
            "--objective",
            choices=["actions", "steps"],
            default="actions",
            help="what to make small first",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        exit_with_status(lambda: self._plan(options), name="plan_topology", stderr=self.stderr)

    def _plan(self, options: dict[str, Any]) -> int:
        check_limits(time_limit_s=options["time_limit"], seed=options["seed"])
        planner = find_planner(options["method"])
        parameters = named_values(options["param"])
        params = from_dict(planner.Params, parameters)
        check_writable(options["out"])
        problem = transformation_from_json(read_input(options["input"]))
        if options["engine"] == "spark":
            result = _on_spark(problem, options, parameters)
        else:
            result = _here(problem, options, params)
        if result.status != "infeasible":
            _check(problem, result)
        published = transformation_plan_to_dict(result, priced=problem.priced)
        write_output(options["out"], _text(published))
        if result.status == "infeasible":
            self.stderr.write(f"plan_topology: infeasible: {result.reason}")
            return INFEASIBLE
        return ANSWER


def _check(problem: Transformation, result: TransformationPlan) -> None:
    """Refuse to write a plan that the validator rejects."""
    try:
        check(problem, result.steps)
    except InvalidProblem as error:
        raise WeirError(f"{result.planner} gave a plan that does not hold: {error}") from error


def _text(published: dict[str, Any]) -> bytes:
    return json.dumps(published, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _here(problem: Transformation, options: dict[str, Any], params: Any) -> TransformationPlan:
    limit = options["time_limit"]
    began_s = time.monotonic()
    result = find_planner(options["method"]).plan(
        problem,
        params,
        objective=options["objective"],
        stop=never if limit is None else time_limit(limit, time.monotonic),
        seed=options["seed"],
    )
    return replace(result, runtime_s=round(time.monotonic() - began_s, 6))


def _on_spark(
    problem: Transformation, options: dict[str, Any], parameters: dict[str, Any]
) -> TransformationPlan:
    answer = spark_solve(
        job=ONE_CALL,
        key=f"command-{uuid.uuid4()}",
        payload=transformation_bytes(problem),
        order=JobOrder(
            kernel="weir.planners.answer",
            method=options["method"],
            parameters=parameters,
            seed=options["seed"],
            time_limit_s=options["time_limit"],
            inputs={"objective": options["objective"]},
        ),
        keep_going=lambda: True,
        patience_s=0.0,
    )
    return transformation_plan_from_dict(json.loads(answer))
