"""Suggest correlation keys: `manage.py suggest_keys RECORDING --topic T --out OUT.json`."""

import uuid
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from apps.common.command_files import ANSWER, Refused, check_writable, named_values, write_output
from apps.common.formatting import counted
from apps.runs.management.command_status import exit_with_status
from apps.runs.services.gateway import JobOrder, recordings, spark_solve
from weir.codec.correlation import (
    CorrelationAnswer,
    CorrelationSnapshot,
    Recording,
    answer_bytes,
    answer_from_json,
    search_from_dict,
    snapshot_bytes,
)
from weir.correlation.activity import Activity, Search
from weir.correlation.suggest import Suggested, suggest


class Command(BaseCommand):
    """Read a recording of a topic, search it, write the groups; nothing is applied."""

    help = "Publishers of a topic of RECORDING that burst together (docs/formats.md)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "recording", metavar="RECORDING", help="Parquet file, or folder of them"
        )
        parser.add_argument("--topic", required=True, help="whose publishers are compared")
        parser.add_argument("--out", required=True, help="result file, - for standard output")
        parser.add_argument(
            "--param", action="append", default=[], metavar="NAME=VALUE", help="of the search"
        )
        parser.add_argument(
            "--engine", choices=["local", "spark"], default="local", help="same answer from both"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        exit_with_status(lambda: self._suggest(options), name="suggest_keys", stderr=self.stderr)

    def _suggest(self, options: dict[str, Any]) -> int:
        topic = options["topic"]
        if not topic:
            raise Refused("--topic: must not be empty")
        parameters = named_values(options["param"])
        search = search_from_dict(parameters)
        check_writable(options["out"])
        uri = Path(options["recording"]).absolute().as_uri()
        if options["engine"] == "spark":
            answer = _on_spark(uri, topic, parameters)
        else:
            answer = self._here(uri, topic, search)
        write_output(options["out"], answer + b"\n")
        self.stderr.write(f"suggest_keys: {_summary(answer_from_json(answer).suggested)}")
        return ANSWER

    def _here(self, uri: str, topic: str, search: Search) -> bytes:
        _, survey, whole = recordings().read_recording(uri, by="publisher", topic=topic)
        activity = Activity(
            names=tuple(whole.names),
            starts=whole.starts,
            at_s=whole.at_s,
            since_s=survey.since_s,
            until_s=survey.until_s,
        )
        suggested = suggest(activity, search, report=self._report)
        return answer_bytes(CorrelationAnswer(topic=topic, search=search, suggested=suggested))

    def _report(self, progress: Mapping[str, Any]) -> None:
        if self.stderr.isatty():
            done = f"{progress['phase']}: {progress['done']:,} of {progress['total']:,}"
            self.stderr.write(f"\r{done:40}", ending="")


def _summary(suggested: Suggested) -> str:
    """Return what a person should know at once."""
    members = sum(len(group.members) for group in suggested.groups)
    return (
        f"{counted(len(suggested.groups), 'group')} of {counted(members, 'publisher')}; of "
        f"{suggested.publishers:,} in all {suggested.periodic:,} keep a period and "
        f"{suggested.too_few:,} sent too seldom to be judged"
    )


def _on_spark(uri: str, topic: str, parameters: Mapping[str, Any]) -> bytes:
    recording = recordings().recording_at(uri, by="publisher", topic=topic)
    name = uri.rstrip("/").rpartition("/")[2]
    snapshot = CorrelationSnapshot(
        topic=topic,
        recording=Recording(name=name, size_bytes=recording.bytes, modified_s=recording.modified_s),
    )
    return spark_solve(
        job="correlate",
        key=f"command-{uuid.uuid4()}",
        payload=snapshot_bytes(snapshot),
        order=JobOrder(parameters=dict(parameters), inputs={"recording": uri}),
        keep_going=lambda: True,
        patience_s=0.0,
    )
