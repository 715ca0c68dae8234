"""Place a topic's publishers over brokers from a file: `manage.py place IN.json --out OUT.json`."""

import json
import uuid
from argparse import ArgumentParser
from typing import Any

import numpy as np
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
from apps.common.formatting import counted
from apps.runs.management.command_status import exit_with_status
from apps.runs.services.gateway import JobOrder, spark_solve
from weir.codec.placement import placement_from_json
from weir.kernel import Call
from weir.model.placement import NOWHERE, PlacementProblem
from weir.placement import DEFAULT, placer, placers
from weir.placement.answer import answer_of
from weir.plugins import from_dict

KERNEL = "weir.placement.answer"


class Command(BaseCommand):
    """Read a problem, place, write the result. docs/formats.md lists the exit statuses."""

    help = "Brokers for the publishers of the topic in IN (docs/formats.md, Placement)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_solver_arguments(parser, methods=placers(), default=DEFAULT, time_limit=False)

    def handle(self, *args: Any, **options: Any) -> None:
        exit_with_status(lambda: self._place(options), name="place", stderr=self.stderr)

    def _place(self, options: dict[str, Any]) -> int:
        check_limits(seed=options["seed"])
        parameters = named_values(options["param"])
        from_dict(placer(options["method"]).Params, parameters)
        out = options["out"]
        check_writable(out)
        payload = read_input(options["input"])
        problem = placement_from_json(payload)
        if options["engine"] == "spark":
            result = _on_spark(payload, options, parameters)
        else:
            call = Call(method=options["method"], parameters=parameters, seed=options["seed"])
            result = answer_of(problem, call)
        write_output(out, result)
        plain = json.loads(result)
        for line in _summary(problem, plain):
            self.stderr.write(f"place: {line}")
        return INFEASIBLE if plain["status"] == "infeasible" else ANSWER


def _summary(problem: PlacementProblem, plain: dict[str, Any]) -> list[str]:
    """Return what a person should know at once: what does not fit, and a missed objective."""
    lines = []
    if missing := plain["unassigned"]:
        more = plain["need_brokers"]
        if more is not None:
            help_line = f"{counted(more, 'more broker')} would hold them"
        elif not _pinned_names(problem).isdisjoint(missing):
            help_line = "a pin names a broker without room for it"
        elif problem.brokers:
            help_line = "one of them sends more than any broker can take"
        else:
            help_line = "there is no broker"
        lines.append(f"infeasible: no room for {counted(len(missing), 'publisher')}; {help_line}")
    objectives = problem.contract.objectives
    for broker, row in plain["predicted"].items():
        for name, ratio in objectives.ratios(row["p99_s"], row.get("mean_s")).items():
            if ratio > 1.0:
                what = {"p99_s": "the 99th percentile waits", "mean_s": "messages wait"}[name]
                wait = "without bound" if row[name] is None else f"{row[name]:.3g} s"
                mean = " on average" if name == "mean_s" else ""
                slo = getattr(objectives, name)
                lines.append(f"{broker}: {what} {wait}{mean}, the objective is {slo:g} s")
    return lines


def _pinned_names(problem: PlacementProblem) -> set[str]:
    """Return the publishers with a pin, which are few."""
    publishers = problem.publishers
    return {publishers.names[at] for at in np.flatnonzero(publishers.pinned != NOWHERE).tolist()}


def _on_spark(payload: bytes, options: dict[str, Any], parameters: dict[str, Any]) -> bytes:
    return spark_solve(
        job="kernel",
        key=f"command-{uuid.uuid4()}",
        payload=payload,
        order=JobOrder(
            kernel=KERNEL,
            method=options["method"],
            parameters=parameters,
            seed=options["seed"],
        ),
        keep_going=lambda: True,
        patience_s=0.0,
    )
