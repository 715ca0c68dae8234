"""Where the token comes from and where it may go."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from weir_cli import login
from weir_cli.ending import CommandError
from weir_cli.login import Login


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def test_a_login_is_kept_for_its_owner_alone(home: dict[str, str]) -> None:
    path = login.keep(Login("https://weir.example.org", "weir_abc"), home)
    assert path.stat().st_mode & 0o777 == 0o600
    assert login.current(home) == Login("https://weir.example.org", "weir_abc")
    login.keep(Login("https://other.example.org", "weir_def"), home)
    assert login.current(home).token == "weir_def"
    assert login.forget(home)
    assert not login.forget(home)
    with pytest.raises(CommandError, match="Not signed in"):
        login.current(home)


def test_the_environment_goes_first(home: dict[str, str], tmp_path: Path) -> None:
    login.keep(Login("https://weir.example.org", "weir_kept"), home)
    given = {**home, "WEIR_URL": "https://ci.example.org/", "WEIR_TOKEN": " weir_ci\n"}
    assert login.current(given) == Login("https://ci.example.org", "weir_ci")
    file = tmp_path / "token"
    file.write_text("weir_file\n")
    file.chmod(0o600)
    given = {**home, "WEIR_URL": "https://ci.example.org", "WEIR_TOKEN_FILE": str(file)}
    assert login.current(given).token == "weir_file"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"WEIR_TOKEN": "weir_x"}, "set WEIR_URL, too"),
        ({"WEIR_URL": "https://elsewhere.example.org"}, "the login that is kept is for"),
        ({"WEIR_TOKEN": "a", "WEIR_TOKEN_FILE": "b", "WEIR_URL": "https://w"}, "both set"),
        ({"WEIR_TOKEN": "two words", "WEIR_URL": "https://w"}, "no token"),
        ({"WEIR_TOKEN_FILE": "/nowhere/token", "WEIR_URL": "https://w"}, "/nowhere/token: No such"),
        ({"WEIR_TOKEN": "weir_x", "WEIR_URL": "weir.example.org"}, "no address of Weir"),
        ({"WEIR_TOKEN": "weir_x", "WEIR_URL": "https://u:p@weir"}, "no address of Weir"),
        ({"WEIR_TOKEN": "weir_x", "WEIR_URL": "https://weir:99999"}, "no address of Weir"),
        ({"WEIR_TOKEN": "weir_x", "WEIR_URL": "http://[::1"}, "no address of Weir"),
        ({"WEIR_TOKEN": "weir_x", "WEIR_URL": "https://weir/api/v1"}, "without a path"),
    ],
)
def test_a_token_goes_nowhere_that_was_not_meant(
    home: dict[str, str], given: dict[str, str], message: str
) -> None:
    login.keep(Login("https://weir.example.org", "weir_kept"), home)
    with pytest.raises(CommandError, match=message):
        login.current({**home, **given})


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"url": "https://w"}', "7", '{"url": 1, "token": 2}', "\udcff"]
)
def test_a_spoilt_file_says_how_to_go_on(home: dict[str, str], text: str) -> None:
    path = login.kept_at(home)
    path.parent.mkdir(parents=True)
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(CommandError, match=r"holds no login\. Sign in with"):
        login.current(home)


def test_a_token_is_read_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("weir_piped\nmore\n"))
    assert login.read_token(None) == "weir_piped"
    with pytest.raises(CommandError, match="no token"):
        login.read_token(None) and login.read_token(None)


def test_a_file_that_others_may_read_is_pointed_out(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "token"
    file.write_text(json.dumps("weir_x").strip('"'))
    file.chmod(0o644)
    assert login.read_token(str(file)) == "weir_x"
    assert "others may read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "readable"),
    [
        ("https://weir.example.org", False),
        ("http://127.0.0.1:8000", False),
        ("http://localhost:8000", False),
        ("http://[::1]:8000", False),
        ("http://10.0.0.7", True),
        ("http://weir.example.org", True),
    ],
)
def test_plain_http_beyond_this_machine_is_pointed_out(url: str, readable: bool) -> None:
    assert login.is_readable_on_the_way(url) is readable
