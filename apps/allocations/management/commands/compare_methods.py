"""Solve one problem with every method and print a table: `manage.py compare_methods IN.json`."""

import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.common.command_files import (
    ANSWER,
    BAD_INPUT,
    INFEASIBLE,
    Refused,
    check_limits,
    read_input,
)
from weir.codec import problem_from_json
from weir.errors import InvalidProblem, UnknownMethod
from weir.model import Problem, Result
from weir.optimizers import method as find_method
from weir.optimizers import methods
from weir.stop import never, time_limit

HEAD = ("method", "status", "utility", "below the bound", "admitted", "iterations", "seconds")
NONE = "-"


class Command(BaseCommand):
    """Solve the same problem with several methods; default parameters, best utility first.

    Exit status 0; 1 where nothing fits; 2 for bad input.
    """

    help = "Every method on the problem in IN (docs/formats.md, Allocation), side by side."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("input", metavar="IN", help="problem file, - for standard input")
        parser.add_argument(
            "--method",
            action="append",
            metavar="NAME",
            help=f"may be repeated; left out: {', '.join(methods())}",
        )
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="of each method")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            status = self._compare(options)
        except (Refused, InvalidProblem, UnknownMethod) as error:
            self.stderr.write(f"compare_methods: {error}")
            status = BAD_INPUT
        if status != ANSWER:
            sys.exit(status)

    def _compare(self, options: dict[str, Any]) -> int:
        limit = options["time_limit"]
        check_limits(time_limit_s=limit, seed=options["seed"])
        names = list(dict.fromkeys(options["method"] or methods()))
        for name in names:
            find_method(name)
        problem = problem_from_json(read_input(options["input"]))
        rows = [_solved(problem, name, options["seed"], limit) for name in names]
        if rows[0][0].status == "infeasible":
            self.stderr.write(f"compare_methods: infeasible: {rows[0][0].reason}")
            return INFEASIBLE
        self.stdout.write(_table(sorted(rows, key=lambda row: -row[0].utility)))
        return ANSWER


def _solved(problem: Problem, name: str, seed: int, limit: float | None) -> tuple[Result, float]:
    optimizer = find_method(name)
    begun = time.perf_counter()
    stop = never if limit is None else time_limit(limit, time.monotonic)
    result = optimizer.solve(problem, optimizer.Params(), stop=stop, seed=seed)
    return result, time.perf_counter() - begun


def _table(rows: list[tuple[Result, float]]) -> str:
    bounds = [result.upper_bound for result, _ in rows if result.upper_bound is not None]
    bound = min(bounds, default=None)
    cells = [HEAD, *(_cells(result, took_s, bound) for result, took_s in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(HEAD))]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in cells]
    if bound is not None:
        lines.append(f"No allocation can exceed {bound:,.2f}.")
    return "\n".join(lines)


def _cells(result: Result, took_s: float, bound: float | None) -> tuple[str, ...]:
    below = NONE if not bound else f"{100 * (bound - result.utility) / abs(bound):.2g} %"
    return (
        result.method,
        result.status,
        f"{result.utility:,.2f}",
        below,
        f"{sum(result.populations.values()):,}",
        f"{result.iterations:,}",
        f"{took_s:.2f}",
    )


def _aligned(row: tuple[str, ...], widths: list[int]) -> list[str]:
    """Return the row aligned: words to the left, numbers to the right."""
    words = 2
    return [
        cell.ljust(width) if at < words else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
