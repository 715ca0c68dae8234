"""Open, follow and close changes in Jira.

A request is made by the API of Jira Service Management, for that API alone knows request types; its
approvals are read and its internal comments written there. State and transitions come from the
platform's API for both kinds: the transitions of customers are those that a portal shows, and do
not say to which state they lead.

The correlation id is in what creates a change, never written afterwards: whatever moment a worker
dies at, or an answer is lost, a change that exists can be looked for. An issue has it as a label, a
request, whose type seldom has labels, as a word of its description.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from apps.integrations.connectors.answers import checked_link, json_of
from apps.integrations.connectors.jira import texts
from apps.integrations.connectors.jira.settings import CLOUD, ISSUE, REQUEST, JiraSettings
from apps.integrations.connectors.settings import state_names
from apps.integrations.domain.contract import (
    Answer,
    Approval,
    ChangeText,
    Ending,
    Failed,
    Record,
    Refused,
    Session,
    Status,
)

DESK = "/rest/servicedeskapi"
OPT_IN = {"X-ExperimentalApi": "opt-in"}
"""Approvals are an experimental part of the API on some servers of Data Center."""

CLOUD_SEARCH_LAG_S = 300.0
"""The search of Jira Cloud shows an issue seconds, seldom minutes after it was made."""

PAGE, PAGES = 50, 20
DONE = "done"
Row = Mapping[str, Any]


class Jira:
    """The changes of one Jira."""

    def __init__(self, settings: JiraSettings, session: Session) -> None:
        self.settings = settings
        self.session = session
        self.is_cloud = settings.edition == CLOUD
        self.search_lag_s = CLOUD_SEARCH_LAG_S if self.is_cloud else 0.0
        self.api = f"/rest/api/{3 if self.is_cloud else 2}"

    def test(self) -> str:
        """Read who the account is, and where it makes changes."""
        settings = self.settings
        person = _object(self.session.send("GET", f"{self.api}/myself"))
        who = str(person.get("displayName") or person.get("name") or "the account")[:100]
        if settings.kind == ISSUE:
            place = _object(self.session.send("GET", f"{self.api}/project/{settings.project}"))
        else:
            desk = f"{DESK}/servicedesk/{settings.service_desk}"
            path = f"{desk}/requesttype/{settings.request_type}"
            place = _object(self.session.send("GET", path, headers=OPT_IN))
        return f"Jira answers to {who} and shows {str(place.get('name') or 'the project')[:100]}."

    def find(self, key: str) -> Record | None:
        """Look for the correlation id."""
        return next(iter(self.find_all(key)), None)

    def find_all(self, key: str) -> list[Record]:
        """Look for the correlation id; rows of other changes are no answer."""
        field = "labels" if self.settings.kind == ISSUE else "description"
        wanted = f'labels = "{_label(key)}"'
        if self.settings.kind == REQUEST:
            wanted = f'description ~ "{texts.marker(key)}"'
        path = f"{self.api}/search/jql" if self.is_cloud else f"{self.api}/search"
        query = {"jql": f"{wanted} ORDER BY key ASC", "fields": field, "maxResults": "20"}
        rows = _object(self.session.send("GET", path, query=query)).get("issues")
        if not isinstance(rows, list):
            raise Failed("Jira answers to a search with something else than issues.", status=200)
        mine = [row for row in rows if isinstance(row, Mapping) and key in self._keys(row, key)]
        records = [self._record(row, key) for row in mine]
        return sorted(records, key=lambda record: int(record.id))

    def is_missing(self, record: Record) -> bool:
        """Look for it, as an account that sees where changes are.

        To an expired token, and to an account without the right, Jira answers as to strangers:
        nothing is there.
        """
        if self.find(record.key) is not None:
            return False
        self.test()
        return True

    def open(self, text: ChangeText) -> Record:
        """Make the change, with its correlation id, by one request."""
        settings, sections = self.settings, texts.sections_of(text)
        fields: dict[str, Any] = {**settings.fields, "summary": texts.title_of(text)}
        for name, at in (
            (settings.start_field, text.starts_at),
            (settings.end_field, text.ends_at),
        ):
            if name:
                fields[name] = (
                    f"{datetime.fromisoformat(at).astimezone(UTC):%Y-%m-%dT%H:%M:%S.000+0000}"
                )
        if settings.kind == REQUEST:
            fields["description"] = texts.plain(sections)
            body = {
                "serviceDeskId": settings.service_desk,
                "requestTypeId": settings.request_type,
                "requestFieldValues": fields,
            }
            return self._record(self._made("POST", f"{DESK}/request", body), text.key)
        fields["project"], fields["issuetype"] = (
            {"key": settings.project},
            {"name": settings.issue_type},
        )
        fields["labels"] = [_label(text.key)]
        fields["description"] = texts.document(sections) if self.is_cloud else texts.plain(sections)
        return self._record(self._made("POST", f"{self.api}/issue", {"fields": fields}), text.key)

    def amend(self, record: Record, text: ChangeText) -> Record:
        """Return the change as it is: Jira makes it whole or not at all."""
        return record

    def status(self, record: Record) -> Status:
        """Read state and approvals."""
        fields = self._read(record)
        state, is_done = _state(fields)
        return Status(
            state=state,
            approval=self._approval(record, state),
            over=self._is_over(state, is_done),
            starts_at=_moment(fields.get(self.settings.start_field)),
            ends_at=_moment(fields.get(self.settings.end_field)),
        )

    def comment(self, record: Record, text: str, *, mark: str, again: bool) -> None:
        """Write a comment; customers of a service desk do not see it."""
        if again and self._has_comment(record, mark):
            return
        if self.settings.kind == REQUEST:
            body = {"body": text, "public": False}
            self.session.send("POST", f"{DESK}/request/{record.id}/comment", body, headers=OPT_IN)
            return
        content = texts.document_of(text) if self.is_cloud else text[: texts.LONGEST_TEXT]
        self.session.send("POST", f"{self.api}/issue/{record.id}/comment", {"body": content})

    def begin(self, record: Record) -> None:
        """Move the change to the state that the settings name."""
        state, is_done = _state(self._read(record))
        if not self._is_over(state, is_done):
            self._move(record, state, self.settings.begin_state)

    def end(self, record: Record, ending: Ending, text: str) -> None:
        """Write how it ended, then move the change, unless people have ended it."""
        state, is_done = _state(self._read(record))
        if self._is_over(state, is_done):
            return
        mark = f"[weir {record.key} {ending.value}]"
        self.comment(record, f"{text}\n{mark}", mark=mark, again=True)
        self._move(record, state, getattr(self.settings, f"{ending.value}_state"))

    def _is_over(self, state: str, is_done: bool) -> bool:
        """Return whether people have ended a change; one that is approved is to be carried out."""
        return is_done and state.casefold() not in state_names(self.settings.approved_states)

    def _approval(self, record: Record, state: str) -> Approval:
        """Return what people decided; approvals of a request that were asked for anew replace the
        former ones of their name."""
        name, settings = state.casefold(), self.settings
        approved = state_names(settings.approved_states)
        if name in state_names(settings.refused_states):
            return Approval.REFUSED
        if settings.kind == ISSUE:
            return Approval.APPROVED if name in approved else Approval.WAITING
        rows = sorted(self._approvals(record), key=_number)
        latest = {str(row.get("name")): str(row.get("finalDecision")).casefold() for row in rows}
        decisions = set(latest.values())
        if "declined" in decisions:
            return Approval.REFUSED
        if decisions == {"approved"} and (not approved or name in approved):
            return Approval.APPROVED
        # Where no approval is asked for, a state may say that none is needed.
        return Approval.APPROVED if not decisions and name in approved else Approval.WAITING

    def _approvals(self, record: Record) -> list[Row]:
        rows: list[Row] = []
        for _ in range(PAGES):
            answer = _object(
                self.session.send(
                    "GET",
                    f"{DESK}/request/{record.id}/approval",
                    query={"start": str(len(rows)), "limit": str(PAGE)},
                    headers=OPT_IN,
                )
            )
            values = answer.get("values")
            if not isinstance(values, list):
                raise Failed("Jira answers with something else than approvals.", status=200)
            rows += [row if isinstance(row, Mapping) else {} for row in values]
            if answer.get("isLastPage") is not False:
                return rows
            if not values:
                break
        raise Refused(f"{record.number} has more approvals than Weir reads.")

    def _has_comment(self, record: Record, mark: str) -> bool:
        """Return whether a comment has this mark. Formatting may take its brackets away."""
        words, begin = mark.strip("[]"), 0
        for _ in range(PAGES):
            answer = _object(
                self.session.send(
                    "GET",
                    f"{self.api}/issue/{record.id}/comment",
                    query={"startAt": str(begin), "maxResults": str(PAGE), "orderBy": "-created"},
                )
            )
            comments, total = answer.get("comments"), answer.get("total")
            if not isinstance(comments, list):
                raise Failed("Jira answers with something else than comments.", status=200)
            if any(words in str(row) for row in comments):
                return True
            begin += len(comments)
            if not comments or not isinstance(total, int) or begin >= total:
                break
        return False

    def _move(self, record: Record, state: str, wanted: str) -> None:
        if not wanted or state.casefold() == wanted.strip().casefold():
            return
        path = f"{self.api}/issue/{record.id}/transitions"
        query = {"expand": "transitions.fields"}
        ways = _object(self.session.send("GET", path, query=query)).get("transitions")
        if not isinstance(ways, list):
            raise Failed("Jira answers with something else than transitions.", status=200)
        known: set[str] = set()
        there: list[Row] = []
        for way in ways:
            target = way.get("to") if isinstance(way, Mapping) else None
            if isinstance(target, Mapping) and way.get("id") is not None:
                known.add(str(target.get("name")))
                if str(target.get("name")).casefold() == wanted.strip().casefold():
                    there.append(way)
        if not there:
            leads = f"only to {', '.join(sorted(known))}" if known else "nowhere"
            raise Refused(
                f"{record.number} stays in {state}: from there this account gets {leads}, not to "
                f"{wanted}. Give it the right, or correct the settings."
            )
        way = min(there, key=lambda one: len(self._missing(one)))
        missing = self._missing(way)
        if missing:
            raise Refused(
                f"{record.number} does not get to {wanted}: the screen on the way asks for "
                f"{', '.join(missing)}. Give it in `transition_fields`, or let it be empty there."
            )
        body: dict[str, Any] = {"transition": {"id": str(way["id"])}}
        screen = _fields(way)
        given = self.settings.transition_fields.items()
        fields = {name: value for name, value in given if name in screen}
        self.session.send("POST", path, {**body, "fields": fields} if fields else body)

    def _missing(self, way: Row) -> list[str]:
        """Return what the screen of a transition asks for and the settings do not give."""
        return sorted(
            f"{one.get('name') or name} ({name})"
            for name, one in _fields(way).items()
            if isinstance(one, Mapping)
            and one.get("required") is True
            and one.get("hasDefaultValue") is not True
            and name not in self.settings.transition_fields
        )

    def _read(self, record: Record) -> Row:
        """Return the fields of a change. Refuses one that has another's correlation id."""
        settings = self.settings
        names = ("status", "labels" if settings.kind == ISSUE else "description")
        wanted = [name for name in (*names, settings.start_field, settings.end_field) if name]
        path = f"{self.api}/issue/{record.id}"
        row = _object(self.session.send("GET", path, query={"fields": ",".join(wanted)}))
        keys = self._keys(row, record.key)
        if keys and record.key not in keys:
            raise Refused(
                f"{record.number} there is another change: it has another correlation id.",
                status=404,
            )
        return _fields(row)

    def _keys(self, row: Row, key: str) -> set[str]:
        """Return the correlation ids that a row has; ours as we write it, others anyhow."""
        fields = _fields(row)
        if self.settings.kind == REQUEST:
            mine, seen = texts.marker(key), texts.markers(fields.get("description"))
        else:
            labels = fields.get("labels")
            mine = _label(key)
            names = labels if isinstance(labels, list) else []
            seen = {str(name) for name in names if str(name).startswith(LABEL)}
        return {key if name == mine else name for name in seen}

    def _made(self, method: str, path: str, body: Any) -> Row:
        return _object(self.session.send(method, path, body, headers=OPT_IN))

    def _record(self, row: Row, key: str) -> Record:
        mine = str(row.get("issueId") or row.get("id"))
        number = str(row.get("issueKey") or row.get("key") or mine)
        if not mine.isascii() or not mine.isdigit() or len(mine) > 18:
            raise Failed("Jira answers with a change that has no id.", status=200)
        links = row.get("_links")
        web = links.get("web") if isinstance(links, Mapping) else None
        site = self.settings.web_address or self.settings.address
        browse = f"{site.rstrip('/')}/browse/{number}"
        return Record(
            id=mine,
            key=key,
            number=number[:100],
            link=checked_link(str(web or "")) or checked_link(browse),
        )


LABEL = "weir-"


def _label(key: str) -> str:
    return f"{LABEL}{key}"


def _object(answer: Answer) -> Row:
    content = json_of(answer)
    if isinstance(content, Mapping):
        return content
    raise Failed(
        "The server answers with something else than Jira's API; look at the address.",
        status=answer.status,
    )


def _fields(row: Row) -> Row:
    fields = row.get("fields")
    return fields if isinstance(fields, Mapping) else {}


def _state(fields: Row) -> tuple[str, bool]:
    """Return the name of the state, and whether it is one of those that end a change."""
    status = fields.get("status")
    name = status.get("name") if isinstance(status, Mapping) else None
    if not isinstance(status, Mapping) or not name:
        raise Failed("Jira answers with a change that has no status.", status=200)
    category = status.get("statusCategory")
    return str(name), isinstance(category, Mapping) and category.get("key") == DONE


def _number(row: Row) -> int:
    text = str(row.get("id"))
    return int(text) if text.isascii() and text.isdigit() else 0


def _moment(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
