"""Replay a result on its problem, step by step: `manage.py check_plan IN.json PLAN.json`."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.common.command_files import BAD_INPUT, INFEASIBLE, Refused, read_input
from apps.common.formatting import counted
from weir.codec import object_from_json
from weir.codec.transformation import transformation_from_json, transformation_plan_from_dict
from weir.errors import InvalidProblem
from weir.model.transformation import Transformation, TransformationPlan
from weir.transformation.validation import check


class Command(BaseCommand):
    """Check a plan. Exit status 0: it is valid; 1: it is not, and the line says where; 2: bad
    input."""

    help = "Whether the plan in PLAN (a result of plan_topology) solves the problem in IN."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("input", metavar="IN", help="problem file, - for standard input")
        parser.add_argument("plan", metavar="PLAN", help="result file, - for standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["input"] == "-" and options["plan"] == "-":
                raise Refused("-: only one of the two files can be standard input")
            problem = _read(options["input"], transformation_from_json)
            plan = _read(options["plan"], _plan_from_json)
        except Refused as error:
            self.stderr.write(f"check_plan: {error}")
            sys.exit(BAD_INPUT)
        try:
            proved = proved_of(problem, plan)
        except InvalidProblem as error:
            self.stderr.write(f"check_plan: {error}")
            sys.exit(INFEASIBLE)
        for sentence in proved:
            self.stdout.write(sentence)


def _plan_from_json(raw: bytes) -> TransformationPlan:
    return transformation_plan_from_dict(object_from_json(raw))


def _read(path: str, parse: Any) -> Any:
    try:
        return parse(read_input(path))
    except InvalidProblem as error:
        raise Refused(f"{path}: {error}") from error


def proved_of(problem: Transformation, plan: TransformationPlan) -> list[str]:
    """Return what the validator proved, as sentences. Raises InvalidProblem naming the first
    error."""
    if plan.status == "infeasible":
        raise InvalidProblem("status", "infeasible; there is no plan to check")
    cost = check(problem, plan.steps)
    _check_claims(plan, cost)
    options = problem.options
    actions = "action" if plan.actions == 1 else "actions"
    steps = "step" if len(plan.steps) == 1 else "steps"
    links = f"{len(problem.goal)} link" + ("" if len(problem.goal) == 1 else "s")
    sentences = [
        f"valid: {plan.actions} {actions} in {len(plan.steps)} {steps} lead from today's overlay "
        f"to the goal with its {links}",
        f"every subset and order of every step ({options.parallel}) leaves a tree",
    ]
    if options.max_degree is not None:
        sentences.append(f"no broker ever has more than {counted(options.max_degree, 'link')}")
    if options.frozen_brokers or options.frozen_links:
        sentences.append("nothing that is frozen was touched")
    if problem.priced:
        sentences.append(f"the actions cost {cost:g}")
    sentences.append(
        f"claimed bounds: at least {counted(plan.lower_bound_actions, 'action')}, "
        f"{counted(plan.lower_bound_steps, 'step')}; not checked here"
    )
    return sentences


def _check_claims(plan: TransformationPlan, cost: float) -> None:
    """Check that the figures of a result agree with its steps."""
    for name, bound, has in (
        ("lower_bound_actions", plan.lower_bound_actions, plan.actions),
        ("lower_bound_steps", plan.lower_bound_steps, len(plan.steps)),
    ):
        if bound > has:
            raise InvalidProblem(name, f"{bound} is above the {has} that the plan has")
