"""Open, follow and close changes at an HTTP endpoint, as its settings say.

Each request that writes carries `Idempotency-Key`, the same one when it is sent again, for what
cannot be looked for.
"""

from datetime import UTC, datetime
from typing import Any

from apps.integrations.connectors.http.settings import HttpSettings
from apps.integrations.connectors.http.templates import (
    filled_body,
    filled_path,
    text_at,
    value_at,
)
from apps.integrations.domain.contract import (
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
        settings = self.settings
        if not settings.find_path:
            return []
        answer = self.session.send("GET", filled_path(settings.find_path, {"key": key}))
        rows = value_at(answer.json, settings.find_list_at)
        listed = rows if isinstance(rows, list) else [rows]
        mine = [row for row in listed if text_at(row, settings.key_at) == key]
        return [self._record(row, key, at_row=True) for row in mine]

    def open(self, text: ChangeText) -> Record:
        """Make the change with the body that the settings say."""
        values = text.plain()
        answer = self._write("open", values, key=text.key)
        return self._record(answer, text.key)

    def amend(self, record: Record, text: ChangeText) -> Record:
        """Return the change as it is: it was made whole."""
        return record

    def status(self, record: Record) -> Status:
        """Read the state, and what it means."""
        settings = self.settings
        if not settings.status_path:
            return Status(state="", approval=Approval.WAITING, over=False)
        path = filled_path(settings.status_path, self._values(record))
        answer = self.session.send("GET", path).json
        state = text_at(answer, settings.state_at)
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
            if mark in self.session.send("GET", path).text:
                return
        values = {**self._values(record), "text": text, "mark": mark}
        self._write("comment", values, key=mark.strip("[]").replace(" ", "-"))

    def begin(self, record: Record) -> None:
        """Say that the plan is being carried out, where that is asked for."""
        if self.settings.begin_path:
            self._write("begin", self._values(record), key=f"{record.id}-begin")

    def end(self, record: Record, ending: Ending, text: str) -> None:
        """Close or cancel the change, unless it is over."""
        if not self.settings.end_path or self.status(record).over:
            return
        values = {**self._values(record), "text": text, "outcome": ending.value}
        self._write("end", values, key=f"{record.id}-end")

    def _write(self, name: str, values: dict[str, str], *, key: str) -> Any:
        path = filled_path(getattr(self.settings, f"{name}_path"), values)
        body = filled_body(getattr(self.settings, f"{name}_body"), values)
        method = getattr(self.settings, f"{name}_method")
        return self.session.send(method, path, body, headers={"Idempotency-Key": key}).json

    def _values(self, record: Record) -> dict[str, str]:
        return {"id": record.id, "number": record.number, "key": record.key}

    def _record(self, answer: Any, key: str, *, at_row: bool = False) -> Record:
        """Return the change of an answer. In a list, rows begin where changes do."""
        settings = self.settings
        if not settings.id_at:
            number = text_at(answer, settings.number_at) or key
            return Record(id=key, key=key, number=number, link=text_at(answer, settings.link_at))
        found = {name: _at(answer, getattr(settings, name), at_row) for name in LINKED}
        if not found["id_at"] or found["id_at"] in (".", ".."):
            raise Refused(f"The answer holds no id at {settings.id_at}; correct the settings.")
        return Record(
            id=found["id_at"],
            key=key,
            number=found["number_at"] or found["id_at"],
            link=found["link_at"] if found["link_at"].startswith(("https://", "http://")) else "",
        )


LINKED = ("id_at", "number_at", "link_at")


def _at(answer: Any, path: str, at_row: bool) -> str:
    """Return a member of a change; the answer to opening may wrap what a list has bare."""
    return text_at(answer, path) or (text_at(answer, path.rpartition(".")[2]) if at_row else "")


def _is_one_of(state: str, states: str) -> bool:
    names = {name.strip().casefold() for name in states.split(",") if name.strip()}
    return state.casefold() in names


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
