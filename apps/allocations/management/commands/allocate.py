"""Solve an allocation problem from a file: `manage.py allocate IN.json --out OUT.json`."""

import json
import time
import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.allocations.services import DEFAULT_METHOD
from apps.common.command_files import (
    ANSWER,
    INFEASIBLE,
    Refused,
    add_solver_arguments,
    check_limits,
    check_writable,
    named_values,
    read_input,
    write_output,
)
from apps.runs.management.command_status import exit_with_status
from apps.runs.services.gateway import JobOrder, spark_solve
from weir.codec import (
    canonical_bytes,
    problem_from_json,
    result_from_dict,
    result_to_json,
)
from weir.model import Problem, Result
from weir.optimizers import method as find_method
from weir.optimizers import methods
from weir.plugins import from_dict
from weir.stop import never, time_limit

PARTITIONED = {"auto": None, "yes": True, "no": False}


class Command(BaseCommand):
    """Read a problem, solve it, write the result. docs/formats.md lists the exit statuses."""

    help = "Rates and admitted consumers of the problem in IN (docs/formats.md, Allocation)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_solver_arguments(parser, methods=methods(), default=DEFAULT_METHOD)
        parser.add_argument(
            "--partitioned",
            choices=list(PARTITIONED),
            default="auto",
            help="cut the problem into parts on Spark; auto: where it is large enough to pay",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        exit_with_status(lambda: self._solve(options), name="allocate", stderr=self.stderr)

    def _solve(self, options: dict[str, Any]) -> int:
        limit = options["time_limit"]
        check_limits(time_limit_s=limit, seed=options["seed"])
        cut = options["partitioned"] == "yes"
        if cut and (options["engine"], options["method"]) != ("spark", "certified"):
            raise Refused("--partitioned yes: needs --engine spark and --method certified")
        optimizer = find_method(options["method"])
        parameters = named_values(options["param"])
        params = from_dict(optimizer.Params, parameters)
        out = options["out"]
        check_writable(out)
        problem = problem_from_json(read_input(options["input"]))
        if options["engine"] == "spark":
            result = _on_spark(problem, options, parameters)
        else:
            stop = never if limit is None else time_limit(limit, time.monotonic)
            result = optimizer.solve(problem, params, stop=stop, seed=options["seed"])
        write_output(out, result_to_json(result))
        if result.status == "infeasible":
            self.stderr.write(f"allocate: infeasible: {result.reason}")
            for help_line in _what_would_help(result):
                self.stderr.write(f"allocate: {help_line}")
            return INFEASIBLE
        return ANSWER


def _what_would_help(result: Result) -> list[str]:
    """Return one line per relaxation, each enough alone; OUT lists every change of each."""
    explained = result.infeasibility
    lines = [] if explained is None else [one.sentence for one in explained.relaxations]
    return ["any one of these would help:", *(f"  {line}" for line in lines)] if lines else []


def _on_spark(problem: Problem, options: dict[str, Any], parameters: dict[str, Any]) -> Result:
    answer = spark_solve(
        job="solve",
        key=f"command-{uuid.uuid4()}",
        payload=canonical_bytes(problem),
        order=JobOrder(
            method=options["method"],
            parameters=parameters,
            seed=options["seed"],
            time_limit_s=options["time_limit"],
            inputs={"partitioned": PARTITIONED[options["partitioned"]]},
        ),
        keep_going=lambda: True,
        patience_s=0.0,
    )
    return result_from_dict(json.loads(answer))
