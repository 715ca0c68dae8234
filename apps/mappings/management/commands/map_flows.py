"""Map flows to streams and groups from a file: `manage.py map_flows IN.json --out OUT.json`."""

import json
import time
import uuid
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from apps.common.command_files import (
    ANSWER,
    Refused,
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
from weir.clustering import DEFAULT, clusterer, clusterers
from weir.clustering.answer import answer_of
from weir.codec.mapping import mapping_from_json
from weir.errors import InvalidProblem
from weir.kernel import Call
from weir.model.mapping import MappingProblem
from weir.plugins import from_dict
from weir.stop import never, time_limit

JOB = "cluster"


class Command(BaseCommand):
    """Read a problem, map its flows, write the map. docs/formats.md lists the exit statuses."""

    help = "Streams for the flows, and groups for the streams, of IN (docs/formats.md, Mapping)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_solver_arguments(parser, methods=clusterers(), default=DEFAULT)
        parser.add_argument(
            "--curve", metavar="FILE", help="write what fewer and more moves would cost to FILE"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        exit_with_status(lambda: self._map(options), name="map_flows", stderr=self.stderr)

    def _map(self, options: dict[str, Any]) -> int:
        check_limits(time_limit_s=options["time_limit"], seed=options["seed"])
        parameters = named_values(options["param"])
        from_dict(clusterer(options["method"]).Params, parameters)
        check_writable(options["out"])
        curve = options["curve"]
        if curve is not None:
            _check_curve(options)
        payload = read_input(options["input"])
        problem = mapping_from_json(payload)
        if curve is not None and problem.former is None:
            raise InvalidProblem("previous", "a curve begins at the map in force; add it")
        if options["engine"] == "spark":
            result = _on_spark(payload, options, parameters)
        else:
            result = _here(problem, options, parameters)
        plain = json.loads(result)
        if curve is not None:
            points = plain.pop("curve")
            write_output(curve, json.dumps({"curve": points}, sort_keys=True).encode())
            result = json.dumps(plain, sort_keys=True).encode()
        write_output(options["out"], result)
        for line in _summary(problem, plain):
            self.stderr.write(f"map_flows: {line}")
        return ANSWER


def _check_curve(options: dict[str, Any]) -> None:
    """Check that a curve can be drawn and written. Raises Refused."""
    if options["method"] != DEFAULT:
        raise Refused(f"--curve: only the method {DEFAULT} draws one; leave --method out")
    curve = Path(options["curve"]).resolve()
    for name, path in (("--out", options["out"]), ("IN", options["input"])):
        if options["curve"] == path or (path != "-" and curve == Path(path).resolve()):
            raise Refused(f"--curve: names the same file as {name}; name another one")
    check_writable(options["curve"])


def _inputs(options: dict[str, Any]) -> dict[str, Any]:
    """Return what the kernel is asked for beside a map."""
    return {"curve": True} if options["curve"] is not None else {}


def _summary(problem: MappingProblem, plain: dict[str, Any]) -> list[str]:
    """Return what a person should know at once: the cost, the moves, and what is not mapped."""
    layers = f"transport {plain['transport_cost']:.6g}, messaging {plain['messaging_cost']:.6g}"
    lines = [f"cost {plain['cost']:.6g} work/s ({layers}){_against_random(plain)}"]
    if plain["status"] == "time_limit":
        lines.append("stopped by the time limit: this is the best map so far")
    if problem.former is not None:
        moves = (counted(plain["moved"], "flow"), counted(plain["moved_streams"], "stream"))
        lines.append(f"moved since the previous map: {moves[0]} and {moves[1]}")
    if unwanted := len(problem.flows) - len(plain["stream_of"]):
        lines.append(f"not mapped: {counted(unwanted, 'flow')} that nobody wants")
    return [*lines, *_dearest_pin(plain)]


def _against_random(plain: dict[str, Any]) -> str:
    """Return the cost as a part of that of a random map; nothing where that costs nothing."""
    random_cost = plain["random_cost"]
    return f", {plain['cost'] / random_cost:.3g} of a random map's" if random_cost else ""


def _dearest_pin(plain: dict[str, Any]) -> list[str]:
    """Return the pin without which most would be saved, where any costs something."""
    prices = [
        (price, f"{what} {name}")
        for what, kind in (("flow", "flow_to_stream"), ("stream", "stream_to_group"))
        for name, price in plain["pin_prices"][kind].items()
    ]
    price, name = max(prices, default=(0.0, ""))
    return [f"the dearest pin is that of {name}: it costs {price:.6g} work/s"] if price else []


def _here(problem: MappingProblem, options: dict[str, Any], parameters: dict[str, Any]) -> bytes:
    limit_s = options["time_limit"]
    is_over = never if limit_s is None else time_limit(limit_s, time.monotonic)
    call = Call(
        method=options["method"],
        parameters=parameters,
        seed=options["seed"],
        inputs=_inputs(options),
        stop=lambda: is_over(None),
    )
    return answer_of(problem, call)


def _on_spark(payload: bytes, options: dict[str, Any], parameters: dict[str, Any]) -> bytes:
    return spark_solve(
        job=JOB,
        key=f"command-{uuid.uuid4()}",
        payload=payload,
        order=JobOrder(
            method=options["method"],
            parameters=parameters,
            seed=options["seed"],
            time_limit_s=options["time_limit"],
            inputs=_inputs(options),
        ),
        keep_going=lambda: True,
        patience_s=0.0,
    )
