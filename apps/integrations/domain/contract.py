"""Define what a connector to a product does, and what it is given to do so."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


class Approval(StrEnum):
    """Name what people at the other side have decided about a change."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"


class Ending(StrEnum):
    """Name how a change ends."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ExchangeError(Exception):
    """Signal an exchange that did not do what it was for; the message says why and what to do."""


class Unreachable(ExchangeError):
    """Signal that the other side does not answer as it should: nothing else gets there either.

    What was sent may have arrived. `not_sent`: it has not, for no connection was made.
    """

    def __init__(
        self, message: str, *, retry_after_s: float | None = None, not_sent: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.not_sent = not_sent


class Refused(ExchangeError):
    """Signal that the other side answers and refuses this one request."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Failed(ExchangeError):
    """Signal that the server failed at this one request, which it may have carried out."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer that reports success."""

    status: int
    headers: Mapping[str, str]
    text: str
    json: Any
    """None: it holds no JSON."""


class Session(Protocol):
    """Requests to one server, with its credential."""

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return the answer of a success. Raises Unreachable, Failed or Refused.

        `path` comes after the connection's address; `body` None sends none.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeText:
    """What a change says of its plan."""

    key: str
    """The correlation id: only this change has it."""
    title: str
    description: str
    justification: str
    implementation: str
    back_out: str
    test: str
    starts_at: str
    """ISO 8601, UTC."""
    ends_at: str
    link: str
    """Where people read the plan."""

    def plain(self) -> dict[str, str]:
        """Return it as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A change as the other side keeps it."""

    id: str
    key: str
    """The correlation id."""
    number: str
    """Its name for people."""
    link: str = ""
    ignored: tuple[str, ...] = ()
    """Fields of the last request that the other side did not take over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How a change stands at the other side."""

    state: str
    """As people there see it."""
    approval: Approval
    over: bool
    """It was closed or cancelled."""
    starts_at: datetime | None = None
    ends_at: datetime | None = None


class Connector(Protocol):
    """What a product is asked to do with changes. Each method may be repeated."""

    search_lag_s: float
    """How long `find` may miss what was made."""

    def test(self) -> str:
        """Ask something that changes nothing; return what answers, as a sentence."""
        ...

    def find(self, key: str) -> Record | None:
        """Return the change with this correlation id; of several the one that was made first."""
        ...

    def find_all(self, key: str) -> list[Record]:
        """Return every change with this correlation id, the one that was made first before others.

        More than one: a request whose answer was lost was carried out after it was looked for.
        """
        ...

    def is_missing(self, record: Record) -> bool:
        """Return whether the account can look for changes, and this one is certainly not there."""
        ...

    def open(self, text: ChangeText) -> Record:
        """Make a change and ask for its approval."""
        ...

    def amend(self, record: Record, text: ChangeText) -> Record:
        """Write the text into a change that exists, and ask for its approval where nobody has."""
        ...

    def status(self, record: Record) -> Status:
        """Return how the change stands."""
        ...

    def comment(self, record: Record, text: str, *, mark: str, again: bool) -> None:
        """Add a comment. `again`: look for its mark first, for it may be there already."""
        ...

    def begin(self, record: Record) -> None:
        """Note that the change is being carried out."""
        ...

    def end(self, record: Record, ending: Ending, text: str) -> None:
        """Close or cancel the change, unless it is over."""
        ...


class ConnectionSettings(Protocol):
    """What the settings of every product have."""

    @property
    def address(self) -> str: ...

    @property
    def authentication(self) -> str: ...

    @property
    def token_address(self) -> str:
        """Return where access tokens are taken; empty: the credential is sent itself."""
        ...

    @property
    def scope(self) -> str: ...

    @property
    def client_in_body(self) -> bool:
        """Return whether the server of tokens wants the client in the body."""
        ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def shows_approval(self) -> bool:
        """Return whether a change there says that it is approved."""
        ...

    @property
    def shows_window(self) -> bool:
        """Return whether a change there says for when it is planned."""
        ...


class Product(Protocol):
    """A module in `connectors`: a product that people keep changes in."""

    NAME: str
    TITLE: str
    Settings: type[Any]
    """A frozen dataclass; raises InvalidProblem that names the field."""

    def connect(self, settings: Any, session: Session) -> Connector:
        """Return the product at the address of these settings."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One exchange with the other side, secrets masked."""

    method: str
    address: str
    status: int | None = None
    request: str = ""
    response: str = ""
    failure: str = ""
    seconds: float = 0.0
    at: datetime = field(kw_only=True)
    signs_in: bool = False
    """It asked for an access token, and wrote nothing."""
