"""Profile a topic on simulated brokers: `manage.py profile IN.json --out OUT.json`."""

import json
import math
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.common.command_files import (
    ANSWER,
    INFEASIBLE,
    Refused,
    check_limits,
    check_writable,
    read_input,
    write_output,
)
from apps.common.formatting import counted
from apps.runs.management.command_status import exit_with_status
from weir.codec.profile import profile_from_json, profile_to_dict
from weir.model.placement import Objectives
from weir.placement.profiling import Profile, by_rates_alone, profile, verdicts
from weir.placement.rounds import searched_by_halves
from weir.placement.simulated_brokers import SimulatedBrokers

MOST_MESSAGES = 50_000_000
"""Of one measurement at one broker, at most: they take some 50 bytes each meanwhile."""

LONGEST = 8.0
"""Times a round: the longest measurement, unless --longest says otherwise."""


class Command(BaseCommand):
    """Read a problem, place, measure and place again on simulated brokers, write the rounds."""

    help = "Rounds of placing and measuring the topic in IN (docs/formats.md, Profile)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("input", metavar="IN", help="problem file, - for standard input")
        parser.add_argument("--out", required=True, help="result file, - for standard output")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--seconds", type=float, default=60.0, help="of a round")
        parser.add_argument(
            "--longest",
            type=float,
            metavar="SECONDS",
            help="of a round that is measured on because it leaves a miss open; 8 times --seconds",
        )
        parser.add_argument("--arrivals", choices=["poisson", "periodic"], default="poisson")

    def handle(self, *args: Any, **options: Any) -> None:
        exit_with_status(lambda: self._profile(options), name="profile", stderr=self.stderr)

    def _profile(self, options: dict[str, Any]) -> int:
        check_limits(seed=options["seed"])
        seconds = options["seconds"]
        longest = LONGEST * seconds if options["longest"] is None else options["longest"]
        if not 0 < seconds <= longest < math.inf:
            raise Refused("--seconds: must be above 0 and at most --longest")
        check_writable(options["out"])
        problem, true_per_s = profile_from_json(read_input(options["input"]))
        others = sum(broker.allocated_rate_per_s for broker in problem.brokers)
        messages = longest * (float(problem.loads().sum()) + others)
        if messages > MOST_MESSAGES:
            raise Refused(
                f"--longest: {longest:g} s are {messages:,.0f} messages, and {MOST_MESSAGES:,} are "
                "simulated at most; measure for a shorter time"
            )
        brokers = SimulatedBrokers(
            true_per_s=true_per_s,
            seconds=seconds,
            most_seconds=longest,
            seed=options["seed"],
            arrivals=options["arrivals"],
        )
        seen = profile(problem, brokers.measure, seed=options["seed"])
        searched = searched_by_halves(
            by_rates_alone(problem),
            lambda at, here: brokers.ratio(problem, at, here),
            seed=options["seed"],
        )
        result = profile_to_dict(seen, search_rounds=searched.rounds)
        write_output(options["out"], json.dumps(result, sort_keys=True, indent=2).encode() + b"\n")
        for line in _summary(seen, problem.contract.objectives, searched.rounds):
            self.stderr.write(f"profile: {line}")
        return ANSWER if seen.kept else INFEASIBLE


def _summary(seen: Profile, objectives: Objectives, search_rounds: int) -> list[str]:
    """Return a line for each round and what a person should know at the end."""
    lines = ["brokers are simulated; what real ones do is for measurements to say"]
    for number, each in enumerate(seen.rounds, 1):
        shown = verdicts(each.problem)["brokers"]
        ratios = [objectives.ratio(row["p99_s"], row["mean_s"]) for row in shown]
        worst = shown[ratios.index(max(ratios))]
        missed = sum(ratio > 1.0 for ratio in ratios)
        mean = "" if objectives.mean_s is None else f", {worst['mean_s']:.3g} s on average"
        lines.append(
            f"round {number}: {counted(len(shown), 'broker')}, {missed} beyond the objective; "
            f"the slowest, {worst['broker']}, took {worst['p99_s']:.3g} s{mean}"
        )
    if not seen.rounds:
        return [*lines, "the brokers have no room for all publishers; manage.py place says who"]
    end = "all brokers keep the objective" if seen.kept else "no placement keeps the objective"
    lines.append(
        f"{end} after {counted(len(seen.rounds), 'round')} and {seen.seconds:g} s; "
        f"a search by halves takes {counted(search_rounds, 'round')}"
    )
    return lines
