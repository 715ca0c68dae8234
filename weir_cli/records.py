"""Send files of records, batch by batch, and say what became of their rows."""

from collections import Counter
from collections.abc import Sequence
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Any

from weir_api.api.set_aside_records import set_aside_records_list
from weir_api.models.problem import Problem
from weir_api.models.record_batch import RecordBatch
from weir_api.models.set_aside_standing_enum import SetAsideStandingEnum
from weir_api.types import Response
from weir_cli.calls import Refused, Weir, note
from weir_cli.ending import DONE, NO, UNFIT, CommandError
from weir_cli.listing import find_system
from weir_cli.output import as_json, counted, plain
from weir_cli.record_files import FORMATS, STDIN, Batch, batches_of, format_of

OF_A_FILE = (400, 409, 413, 415, 422)
"""Statuses of refusals that say nothing about the next file."""
MOST_PROBLEMS = 1000
"""Rows set aside of a batch whose problems are counted."""


def send_command(
    weir: Weir,
    system: str | None,
    table: str,
    files: Sequence[Path],
    *,
    name: str,
    written_in: str | None,
    json_output: bool,
) -> int:
    """Send files of a table; return NO where rows were set aside, UNFIT where files were refused.

    What was sent before counts once, so the command may be repeated whatever happened.
    """
    if name and len(files) > 1:
        raise CommandError("--name is of one file; send these one after another.")
    formats = [format_of(path, written_in) for path in files]
    for path in files:
        if path != STDIN and not path.is_file():
            raise CommandError(f"{path}: there is no such file.")
    of = find_system(weir, system).id
    answers: list[RecordBatch] = []
    refused = False
    try:
        for path, of_file in zip(files, formats, strict=True):
            before = len(answers)
            try:
                for batch in batches_of(path, of_file):
                    answer, repeated = _send(weir, of, table, batch, name, FORMATS[of_file])
                    answers.append(answer)
                    if not json_output:
                        _print(weir, path, batch, answer, repeated)
                if len(answers) == before and not json_output:
                    print(f"{_where(path)}: 0 rows", flush=True)
            except CommandError as error:
                of_weir = error.problem if isinstance(error, Refused) else None
                if error.status != UNFIT or (of_weir and of_weir.status not in OF_A_FILE):
                    raise
                refused = True
                note(f"{plain(path)}: {error}" if of_weir else str(error))
    finally:
        if json_output:
            print(as_json(answers))
    if refused:
        return UNFIT
    return NO if any(answer.waiting for answer in answers) else DONE


def _send(
    weir: Weir, system: Any, table: str, batch: Batch, name: str, media_type: str
) -> tuple[RecordBatch, bool]:
    """Send one batch; return what became of it and whether it had arrived before."""
    if not name:
        name = batch.digest
        # Batches of Parquet have the digest of the whole file in common.
        if batch.first_row and media_type == FORMATS["parquet"]:
            name = f"{name}#{batch.first_row}"
    elif batch.first_row:
        name = f"{name}#{batch.first_row}"
    query = {"system": str(system), "table": table, "batch": name}
    answer = weir.answer(_post, query=query, body=batch.body, media_type=media_type)
    if not isinstance(answer.parsed, RecordBatch):
        raise weir.no_answer_of_weir()
    return answer.parsed, answer.status_code == HTTPStatus.OK


def _post(
    *, client: Any, query: dict[str, str], body: bytes, media_type: str, idempotency_key: str
) -> Response[Any]:
    """Send a body as it is; the generated client has no operation with several types of text."""
    response = client.get_httpx_client().post(
        "/api/v1/record-batches",
        params=query,
        content=body,
        headers={"Content-Type": media_type, "Idempotency-Key": idempotency_key},
    )
    of = RecordBatch if response.status_code in (HTTPStatus.OK, HTTPStatus.CREATED) else Problem
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=of.from_dict(response.json()),
    )


def _print(weir: Weir, path: Path, batch: Batch, answer: RecordBatch, repeated: bool) -> None:
    where = _where(path)
    if batch.first_row:
        where += f" from row {batch.first_row:,}"
    rows = counted(answer.rows, "row")
    became = f"{rows} that arrived before" if repeated else f"{rows}, {answer.accepted:,} taken"
    if answer.waiting:
        became += f", {answer.waiting:,} set aside"
    print(f"{where}: {became}", flush=True)
    if answer.waiting:
        _print_problems(weir, answer)


def _where(path: Path) -> str:
    return plain(path) if path != STDIN else "standard input"


def _print_problems(weir: Weir, answer: RecordBatch) -> None:
    """Print how many rows of a batch have which problem, the most frequent first."""
    waiting = {"batch": answer.id, "state": SetAsideStandingEnum.WAITING, "page_size": 500}
    rows = weir.rows(set_aside_records_list.sync_detailed, **waiting)
    problems = Counter(row.problem for row in islice(rows, MOST_PROBLEMS))
    for problem, number in problems.most_common():
        print(f"  {number:,}  {plain(problem)}")
    if answer.waiting > problems.total():
        print(f"  {answer.waiting - problems.total():,}  others; the page Records has them")
