"""Open, follow and close changes by ServiceNow's Change Management API.

Each field of an answer is a pair `{value, display_value}`. What the account may not write comes
back in `__meta.ignoredFields` of an answer that reports success, and is an error here. A query with
an error in it is answered as if that part were missing, so that each row is looked at again.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from apps.integrations.connectors.servicenow.settings import ServiceNowSettings
from apps.integrations.domain.contract import (
    Answer,
    Approval,
    ChangeText,
    Ending,
    Record,
    Refused,
    Session,
    Status,
    Unreachable,
)

PATH = "/api/sn_chg_rest/change"
NEW, ASSESS, AUTHORIZE, SCHEDULED, IMPLEMENT, REVIEW = "-5", "-4", "-3", "-2", "-1", "0"
CLOSED, CANCELED = "3", "4"
NAMES = {
    **{NEW: "New", ASSESS: "Assess", AUTHORIZE: "Authorize", SCHEDULED: "Scheduled"},
    **{IMPLEMENT: "Implement", REVIEW: "Review", CLOSED: "Closed", CANCELED: "Canceled"},
}
# Where people decide about a change, by its kind; a standard one was approved with its template.
FIRST = {"normal": ASSESS, "emergency": AUTHORIZE, "standard": SCHEDULED}
APPROVED_IN = frozenset({SCHEDULED, IMPLEMENT})
REFUSED_BY = frozenset({"rejected", "cancelled", "canceled"})
CLOSE_CODES = {Ending.SUCCEEDED: "successful", Ending.FAILED: "unsuccessful"}
LONGEST_TITLE, LONGEST_TEXT = 160, 4_000
Row = Mapping[str, Any]


class ServiceNow:
    """The changes of one instance."""

    search_lag_s = 0.0

    def __init__(self, settings: ServiceNowSettings, session: Session) -> None:
        self.settings = settings
        self.session = session

    def test(self) -> str:
        """Read one change that the account may read."""
        answer = self.session.send("GET", PATH, query={"sysparm_limit": "1"})
        count = len(_rows(answer))
        seen = "and shows changes" if count else "and shows no change: there is none it may read"
        return f"ServiceNow answers {seen}."

    def find(self, key: str) -> Record | None:
        """Look for the correlation id."""
        return next(iter(self.find_all(key)), None)

    def find_all(self, key: str) -> list[Record]:
        """Look for the correlation id; rows of other changes are no answer."""
        query = {"sysparm_query": f"correlation_id={key}", "sysparm_limit": "10"}
        rows = _rows(self.session.send("GET", PATH, query=query))
        mine = [row for row in rows if value(row, "correlation_id") == key]
        mine.sort(key=lambda row: value(row, "number"))
        return [self._record(row) for row in mine]

    def is_missing(self, record: Record) -> bool:
        """Look for it by its correlation id."""
        return self.find(record.key) is None

    def open(self, text: ChangeText) -> Record:
        """Make the change; the approval of one that lacks fields is not asked for."""
        kind = self.settings.kind
        path = f"{PATH}/{kind}/{self.settings.template}" if kind == "standard" else f"{PATH}/{kind}"
        row = _row(self.session.send("POST", path, self._fields(text)))
        return self._asking(row)

    def amend(self, record: Record, text: ChangeText) -> Record:
        """Write all fields again, and ask for the approval of a change that is still new."""
        return self._asking(self._patch(record, self._fields(text)))

    def status(self, record: Record) -> Status:
        """Read approval and state."""
        row = self._read(record)
        state, approval = value(row, "state"), value(row, "approval").lower()
        decided = Approval.WAITING
        if approval in REFUSED_BY or state == CANCELED:
            decided = Approval.REFUSED
        elif approval in ("approved", "not_required") and state in APPROVED_IN:
            decided = Approval.APPROVED
        return Status(
            state=shown(row, "state") or NAMES.get(state, state),
            approval=decided,
            over=state in (CLOSED, CANCELED),
            starts_at=moment(value(row, "start_date")),
            ends_at=moment(value(row, "end_date")),
        )

    def comment(self, record: Record, text: str, *, mark: str, again: bool) -> None:
        """Write a work note; nobody outside of the change's people is notified."""
        if again:
            row = self._read(record)
            if mark in value(row, "work_notes") or mark in shown(row, "work_notes"):
                return
        self._written(self._patch(record, {"work_notes": text}))

    def begin(self, record: Record) -> None:
        """Move the change to Implement."""
        state = value(self._read(record), "state")
        if state in (IMPLEMENT, REVIEW, CLOSED):
            return
        self._move(record, IMPLEMENT)

    def end(self, record: Record, ending: Ending, text: str) -> None:
        """Cancel the change, or move it to Closed by way of Review."""
        state = value(self._read(record), "state")
        if state in (CLOSED, CANCELED):
            return
        if ending == Ending.CANCELLED:
            self._move(record, CANCELED, work_notes=text)
            return
        if state not in (IMPLEMENT, REVIEW):
            self._move(record, IMPLEMENT)
        if state != REVIEW:
            self._move(record, REVIEW)
        notes = {"close_code": CLOSE_CODES[ending], "close_notes": text[:LONGEST_TEXT]}
        self._move(record, CLOSED, **notes)

    def _fields(self, text: ChangeText) -> dict[str, str]:
        fields = {
            "short_description": text.title[:LONGEST_TITLE],
            "description": text.description,
            "justification": text.justification,
            "implementation_plan": text.implementation,
            "backout_plan": text.back_out,
            "test_plan": text.test,
            "start_date": f"{datetime.fromisoformat(text.starts_at):%Y-%m-%d %H:%M:%S}",
            "end_date": f"{datetime.fromisoformat(text.ends_at):%Y-%m-%d %H:%M:%S}",
            "correlation_id": text.key,
            "assignment_group": self.settings.assignment_group,
            "cmdb_ci": self.settings.cmdb_ci,
        }
        return {name: content for name, content in fields.items() if content}

    def _asking(self, row: Row) -> Record:
        record = self._record(row)
        first = FIRST[self.settings.kind]
        if not record.ignored and value(row, "state") == NEW:
            self._move(record, first)
        return record

    def _move(self, record: Record, state: str, **fields: str) -> None:
        row = self._patch(record, {"state": state, **fields})
        reached = value(row, "state")
        if reached != state:
            raise Refused(
                f"{record.number} stays in {shown(row, 'state') or NAMES.get(reached, reached)}: "
                f"ServiceNow does not let this account move it to {NAMES[state]}."
            )
        self._written(row)

    def _written(self, row: Row) -> None:
        ignored = _ignored(row)
        if ignored:
            raise Refused(ignored_sentence(ignored))

    def _read(self, record: Record) -> Row:
        row = _row(self.session.send("GET", f"{PATH}/{record.id}"))
        key = value(row, "correlation_id")
        if key and key != record.key:
            raise Refused(
                f"{record.number} there is another change: it has another correlation id.",
                status=404,
            )
        return row

    def _patch(self, record: Record, fields: Mapping[str, str]) -> Row:
        return _row(self.session.send("PATCH", f"{PATH}/{record.id}", fields))

    def _record(self, row: Row) -> Record:
        sys_id = value(row, "sys_id")
        if not sys_id.isalnum():
            raise Unreachable("ServiceNow answers with a change that has no sys_id.")
        address = self.settings.address.rstrip("/")
        return Record(
            id=sys_id,
            key=value(row, "correlation_id"),
            number=value(row, "number") or sys_id,
            link=f"{address}/nav_to.do?uri=change_request.do?sys_id={sys_id}",
            ignored=_ignored(row),
        )


def ignored_sentence(fields: tuple[str, ...]) -> str:
    """Return what people have to do about fields that were not taken over."""
    return (
        f"ServiceNow ignored {', '.join(fields)}: the account may not write them, or they have no "
        "such value. Give it the right, or correct the settings."
    )


def value(row: Row, name: str) -> str:
    """Return the value of a pair; empty where there is none."""
    return _of_pair(row, name, "value")


def shown(row: Row, name: str) -> str:
    """Return what people see of a pair; empty where there is none."""
    return _of_pair(row, name, "display_value")


def _of_pair(row: Row, name: str, member: str) -> str:
    pair = row.get(name)
    found = pair.get(member) if isinstance(pair, Mapping) else pair
    return "" if found is None else str(found)


def moment(text: str) -> datetime | None:
    """Return a time as ServiceNow stores it: UTC."""
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def _ignored(row: Row) -> tuple[str, ...]:
    meta = row.get("__meta")
    fields = meta.get("ignoredFields") if isinstance(meta, Mapping) else None
    return tuple(str(field) for field in fields) if isinstance(fields, list) else ()


def _row(answer: Answer) -> Row:
    result = _result(answer)
    if isinstance(result, Mapping):
        return result
    raise Unreachable("ServiceNow answers with something else than a change.")


def _rows(answer: Answer) -> list[Row]:
    result = _result(answer)
    rows = result if isinstance(result, list) else [result]
    return [row for row in rows if isinstance(row, Mapping) and value(row, "sys_id")]


def _result(answer: Answer) -> Any:
    if not isinstance(answer.json, Mapping) or "result" not in answer.json:
        raise Unreachable(
            "The server answers with something else than ServiceNow's API; look at the address."
        )
    return answer.json["result"]
