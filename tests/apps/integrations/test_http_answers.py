"""What the HTTP connector makes of answers that are not what its settings say."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import uuid4

import pytest

from apps.integrations.connectors.http import connect
from apps.integrations.connectors.http.settings import HttpSettings
from apps.integrations.domain.contract import (
    Approval,
    ChangeText,
    Connector,
    Ending,
    Failed,
    Record,
    Refused,
)
from apps.integrations.services.http_session import HttpSession
from tests.apps.integrations.faulty_server import Fault, FaultyServer, served
from tests.apps.integrations.test_http import SETTINGS
from weir.errors import InvalidProblem

KEY = str(uuid4())
MINE = Record(id="7", key=KEY, number="T-7")
PAGE = "<html><body>Please sign in</body></html>"
TEXT = ChangeText(
    **dict.fromkeys(ChangeText.__slots__, "x") | {"key": KEY},  # type: ignore[arg-type]
)


class Scripted(FaultyServer):
    """A server that answers each request with what the test says."""

    scripted: Any = None

    def answer(
        self, method: str, address: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Any]:
        return self.scripted if isinstance(self.scripted, tuple) else (200, self.scripted)


@pytest.fixture
def server(allowed: None) -> Scripted:
    return Scripted()


@pytest.fixture
def at(server: Scripted) -> Iterator[str]:
    with served(server) as address:
        yield address


@pytest.fixture
def make(at: str) -> Callable[..., Connector]:
    def connected(**changed: Any) -> Connector:
        values = HttpSettings(**{**SETTINGS, "address": at, **changed})
        kept: list[Any] = []
        return connect(values, HttpSession(settings=values, credential="tok", keep=kept.append))

    return connected


@pytest.mark.parametrize(
    "ask",
    [
        lambda connector: connector.find(KEY),
        lambda connector: connector.open(TEXT),
        lambda connector: connector.status(MINE),
        lambda connector: connector.comment(MINE, "a", mark="[weir 1]", again=True),
        lambda connector: connector.end(MINE, Ending.SUCCEEDED, "a"),
    ],
)
def test_page_for_people_is_no_answer(
    server: Scripted, make: Callable[..., Connector], ask: Callable[[Connector], Any]
) -> None:
    server.faults.append(Fault(body=PAGE))
    with pytest.raises(Failed, match="without JSON") as caught:
        ask(make())
    assert caught.value.status == 200
    assert server.requests == [], "nothing is written on the word of such a page"


def test_endpoint_that_is_only_told_may_answer_what_it_likes(
    server: Scripted, make: Callable[..., Connector]
) -> None:
    endpoint = make(id_at="", find_path="", key_at="", number_at="", link_at="")
    for body in (PAGE, "OK"):
        server.faults.append(Fault(body=body))
        assert endpoint.open(TEXT) == Record(id=KEY, key=KEY, number=KEY)


@pytest.mark.parametrize(
    ("scripted", "place", "words"),
    [
        ({"results": []}, "items", "no list of changes at items"),
        ({"items": "none"}, "items", "no list of changes at items"),
        ({"data": {}}, "data.items", "no list of changes at data.items"),
        ([], "items", "no list of changes at items"),
        ("text", "", "no list of changes in it"),
    ],
)
def test_missing_list_says_nothing_of_what_there_is(
    server: Scripted, make: Callable[..., Connector], scripted: Any, place: str, words: str
) -> None:
    server.scripted = scripted
    with pytest.raises(Refused, match=words):
        make(find_list_at=place).find(KEY)


@pytest.mark.parametrize(
    ("scripted", "place"),
    [
        ({"items": []}, "items"),
        ({"items": None}, "items"),
        ([], ""),
        (None, ""),
        ({"items": [{"external": {"ref": "other"}}]}, "items"),
        ((404, {"message": "no such ticket"}), "items"),
        ((204, ""), "items"),
    ],
)
def test_empty_list_means_that_there_is_none(
    server: Scripted, make: Callable[..., Connector], scripted: Any, place: str
) -> None:
    if isinstance(scripted, tuple) and scripted[0] == 204:
        server.faults.append(Fault(status=204))
    server.scripted = scripted
    assert make(find_list_at=place).find(KEY) is None


@pytest.mark.parametrize("status", [400, 403, 410])
def test_refused_search_says_nothing_of_what_there_is(
    server: Scripted, make: Callable[..., Connector], status: int
) -> None:
    server.scripted = (status, {})
    with pytest.raises(Refused):
        make().find(KEY)


@pytest.mark.parametrize("id_at", ["ticket.id", ""])
@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "//example.org/",
        "https://example.org/" + "a" * 1000,
        "https://example.org/\n",
        "data:text/html,x",
        "",
    ],
)
def test_address_that_nobody_may_be_sent_to_is_left_out(
    server: Scripted, make: Callable[..., Connector], link: str, id_at: str
) -> None:
    server.scripted = {"ticket": {"id": "7", "name": "n" * 300, "url": link}}
    record = make(id_at=id_at).open(TEXT)
    assert (record.link, record.number) == ("", "n" * 100)
    server.scripted = {"ticket": {"id": "7", "url": "https://example.org/7"}}
    assert make(id_at=id_at).open(TEXT).link == "https://example.org/7"


@pytest.mark.parametrize("mine", [".", "..", "x" * 201, "a\nb", "", None, ["7"], {}])
def test_id_that_is_no_part_of_a_path_is_refused(
    server: Scripted, make: Callable[..., Connector], mine: Any
) -> None:
    server.scripted = {"ticket": {"id": mine}}
    with pytest.raises(Refused, match=r"ticket\.id"):
        make().open(TEXT)


def test_any_id_goes_into_path_and_header(server: Scripted, make: Callable[..., Connector]) -> None:
    for mine in ("ä/ö", "7?x=1", "T 1/26", "\u6570", "%2e%2e"):
        server.scripted = {"ticket": {"state": "New", "external": {"ref": KEY}}}
        record = Record(id=mine, key=KEY, number=mine)
        make().begin(record)
        make().end(record, Ending.FAILED, "a")
    assert len(server.requests) == 15


@pytest.mark.parametrize(
    ("scripted", "mine"),
    [
        ({"ticket": {"state": "Agreed", "external": {"ref": KEY}}}, True),
        ({"ticket": {"state": "Agreed"}}, True),
        ({"ticket": {"state": "Agreed"}, "external": {"ref": "a request's"}}, True),
        ({"ticket": {"state": "Agreed", "external": {"ref": str(uuid4())}}}, False),
        ({"ticket": {"state": "Agreed", "external": {"ref": KEY + "-copy"}}}, False),
    ],
)
def test_approval_of_another_change_is_not_ours(
    server: Scripted, make: Callable[..., Connector], scripted: Any, mine: bool
) -> None:
    server.scripted = scripted
    if mine:
        assert make().status(MINE).approval == Approval.APPROVED
        return
    for ask in (lambda: make().status(MINE), lambda: make().end(MINE, Ending.FAILED, "a")):
        with pytest.raises(Refused, match="another correlation id") as caught:
            ask()
        assert caught.value.status == 404
    assert {method for method, _, _ in server.requests} == {"GET"}


@pytest.mark.parametrize("scripted", [{"ticket": {}}, {"ticket": {"state": ""}}, {}, [], None])
def test_answer_without_a_state_is_refused(
    server: Scripted, make: Callable[..., Connector], scripted: Any
) -> None:
    server.scripted = scripted
    with pytest.raises(Refused, match=r"no state at ticket\.state"):
        make().status(MINE)


def test_state_is_approved_exactly_where_the_settings_say_so(
    server: Scripted, make: Callable[..., Connector]
) -> None:
    chance = random.Random(5)
    for state in ("agreed", " AGREED ", "in work", "Agree", "Agreed,", "new", "Declined", "no"):
        names = ["Agreed", "In work", "Done"]
        chance.shuffle(names)
        server.scripted = {"ticket": {"state": state}}
        status = make(approved_states=" ,".join(names)).status(MINE)
        expected = state.strip().lower() in ("agreed", "in work", "done")
        assert (status.approval == Approval.APPROVED) is expected
        assert (status.approval == Approval.REFUSED) is (state == "Declined")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"refused_states": "agreed"}, "refused_states"),
        ({"status_path": ""}, "status_path"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    make: Callable[..., Connector], changed: dict[str, str], field: str
) -> None:
    with pytest.raises(InvalidProblem) as caught:
        make(**changed)
    assert caught.value.path == field


def test_names_of_no_state_show_no_approval() -> None:
    values = {**SETTINGS, "address": "https://example.org", "approved_states": " , ,"}
    assert not HttpSettings(**values).shows_approval
