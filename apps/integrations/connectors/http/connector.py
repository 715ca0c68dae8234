"""Open, follow and close changes at an HTTP endpoint, as its settings say.

Each request that writes carries `Idempotency-Key`, the same one when it is sent again, for what
cannot be looked for.
"""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from apps.integrations.connectors.answers import (
    LONGEST_NUMBER,
    checked_id,
    checked_link,
    json_of,
)
from apps.integrations.connectors.http.settings import HttpSettings
from apps.integrations.connectors.http.templates import (
    filled_body,
    filled_path,
    is_at,
    text_at,
    value_at,
)
from apps.integrations.connectors.settings import state_names
from apps.integrations.domain.contract import (
    Answer,
    Approval,
    ChangeText,
    Ending,
    Record,
    Refused,
    Session,
    Status,
)


class HttpEndpoint:
    """The changes of one endpoint."""

    search_lag_s = 0.0

    def __init__(self, settings: HttpSettings, session: Session) -> None:
        self.settings = settings
        self.session = session

    def test(self) -> str:
        """Read the path for tests."""
        answer = self.session.send("GET", self.settings.test_path)
        return f"The server answers {answer.status}."

    def find(self, key: str) -> Record | None:
        """Look for the correlation id."""
        return next(iter(self.find_all(key)), None)

    def find_all(self, key: str) -> list[Record]:
        """Look for the correlation id; rows of other changes are no answer."""
        return self._listed(key) or []

    def is_missing(self, record: Record) -> bool:
        """Look for it; what stands before the endpoint may answer 404 to every path."""
        return self._listed(record.key) == []

    def _listed(self, key: str) -> list[Record] | None:
        """Return the changes with this correlation id; None where there is no list to look at."""
        settings = self.settings
        if not settings.find_path:
            return None
        try:
            answer = self.session.send("GET", filled_path(settings.find_path, {"key": key}))
        except Refused as error:
            if error.status != 404:
                raise
            return None
        if answer.status == 204:
            return None
        mine = [row for row in self._rows(json_of(answer)) if text_at(row, settings.key_at) == key]
        return [self._record(row, key, at_row=True) for row in mine]

    def open(self, text: ChangeText) -> Record:
        """Make the change with the body that the settings say."""
        values = text.plain()
        answer = self._write("open", values, key=text.key)
        return self._record(json_of(answer) if self.settings.id_at else answer.json, text.key)

    def amend(self, record: Record, text: ChangeText) -> Record:
        """Return the change as it is: it was made whole."""
        return record

    def status(self, record: Record) -> Status:
        """Read the state, and what it means."""
        settings = self.settings
        if not settings.status_path:
            return Status(state="", approval=Approval.WAITING, over=False)
        path = filled_path(settings.status_path, self._values(record))
        answer = json_of(self.session.send("GET", path))
        self._check_mine(answer, record)
        state = text_at(answer, settings.state_at)
        if settings.state_at and not state:
            raise Refused(
                f"The answer holds no state at {settings.state_at}; correct the settings."
            )
        approval = Approval.WAITING
        if _is_one_of(state, settings.refused_states):
            approval = Approval.REFUSED
        elif _is_one_of(state, settings.approved_states):
            approval = Approval.APPROVED
        return Status(
            state=state,
            approval=approval,
            over=_is_one_of(state, settings.closed_states),
            starts_at=_moment(text_at(answer, settings.starts_at)),
            ends_at=_moment(text_at(answer, settings.ends_at)),
        )

    def comment(self, record: Record, text: str, *, mark: str, again: bool) -> None:
        """Add a comment where the endpoint takes any."""
        settings = self.settings
        if not settings.comment_path:
            return
        if again and settings.comments_path:
            path = filled_path(settings.comments_path, self._values(record))
            answer = self.session.send("GET", path)
            if answer.status != 204:
                json_of(answer)
            if mark in answer.text:
                return
        values = {**self._values(record), "text": text, "mark": mark}
        self._write("comment", values, key=mark.strip("[]").replace(" ", "-"))

    def begin(self, record: Record) -> None:
        """Say that the plan is being carried out, where that is asked for."""
        if self.settings.begin_path:
            self._write("begin", self._values(record), key=f"{_in_header(record.id)}-begin")

    def end(self, record: Record, ending: Ending, text: str) -> None:
        """Close or cancel the change, unless it is over."""
        if not self.settings.end_path or self.status(record).over:
            return
        values = {**self._values(record), "text": text, "outcome": ending.value}
        self._write("end", values, key=f"{_in_header(record.id)}-end")

    def _write(self, name: str, values: dict[str, str], *, key: str) -> Answer:
        path = filled_path(getattr(self.settings, f"{name}_path"), values)
        body = filled_body(getattr(self.settings, f"{name}_body"), values)
        method = getattr(self.settings, f"{name}_method")
        return self.session.send(method, path, body, headers={"Idempotency-Key": key})

    def _values(self, record: Record) -> dict[str, str]:
        return {"id": record.id, "number": record.number, "key": record.key}

    def _rows(self, answer: Any) -> list[Any]:
        """Return the changes of an answer to looking for one.

        A list that is null is empty; one that is missing says nothing of what there is.
        """
        place = self.settings.find_list_at
        rows = value_at(answer, place)
        if isinstance(rows, list):
            return rows
        if isinstance(rows, dict):
            return [rows]
        if rows is None and is_at(answer, place):
            return []
        where = f"at {place}" if place else "in it"
        raise Refused(f"The answer holds no list of changes {where}; correct the settings.")

    def _check_mine(self, answer: Any, record: Record) -> None:
        """Refuse a change that says that it is another's; many do not say whose they are."""
        settings = self.settings
        if not settings.key_at:
            return
        wrapped = (path.rpartition(".")[0] for path in (settings.state_at, settings.id_at))
        places = {f"{place}.{settings.key_at}".strip(".") for place in wrapped}
        keys = [key for key in (text_at(answer, place) for place in places) if key]
        if keys and record.key not in keys:
            raise Refused(
                f"{record.number} there is another change: it has another correlation id.",
                status=404,
            )

    def _record(self, answer: Any, key: str, *, at_row: bool = False) -> Record:
        """Return the change of an answer. In a list, rows begin where changes do."""
        settings = self.settings
        at = {name: _at(answer, getattr(settings, name), at_row) for name in LINKED}
        mine = checked_id(at["id_at"]) if settings.id_at else key
        if not mine:
            what = "an id that is none" if at["id_at"] else "no id"
            raise Refused(f"The answer holds {what} at {settings.id_at}; correct the settings.")
        number = (at["number_at"] or mine)[:LONGEST_NUMBER]
        return Record(id=mine, key=key, number=number, link=checked_link(at["link_at"]))


LINKED = ("id_at", "number_at", "link_at")


def _at(answer: Any, path: str, at_row: bool) -> str:
    """Return a member of a change; the answer to opening may wrap what a list has bare."""
    return text_at(answer, path) or (text_at(answer, path.rpartition(".")[2]) if at_row else "")


def _is_one_of(state: str, states: str) -> bool:
    return state.strip().casefold() in state_names(states)


def _in_header(text: str) -> str:
    return quote(text, safe="")


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
