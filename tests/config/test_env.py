"""The environment is read once; what is missing or malformed is named."""

from pathlib import Path
from typing import Any

import pytest

from config.env import ConfigurationError, database_settings, read_environment

GOOD = {
    "DATABASE_URL": "postgres://weir:secret@db:5432/weir",
    "WEIR_BROKER_URL": "redis://valkey:6379/0",
    "WEIR_SPARK_REMOTE": "sc://spark:15002",
    "WEIR_SECRET_KEY": "long and random",
    "WEIR_DATA_DIR": "/srv/weir",
    "WEIR_WEB_URL": "https://weir.example.org/",
}


def read(**changed: str) -> Any:
    return read_environment({**GOOD, **changed})


def test_good_environment_is_read_and_typed():
    environment = read()
    assert environment.data_dir == Path("/srv/weir")
    assert environment.web_url == "https://weir.example.org"
    assert environment.allowed_hosts == ("127.0.0.1", "localhost", "[::1]")
    assert environment.secure_cookies is False


@pytest.mark.parametrize("name", sorted(GOOD))
def test_missing_or_empty_variable_is_named_with_the_mend(name):
    for value in ("", "   "):
        with pytest.raises(ConfigurationError, match=f"{name} is not set") as caught:
            read(**{name: value})
        assert "make up" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "scheme"),
    [
        ("DATABASE_URL", "mysql://db/weir", "postgres://"),
        ("DATABASE_URL", "db:5432", "postgres://"),
        ("WEIR_BROKER_URL", "amqp://rabbit", "redis://"),
        ("WEIR_SPARK_REMOTE", "http://spark", "sc://"),
        ("WEIR_WEB_URL", "weir.example.org", "https://"),
    ],
)
def test_address_of_the_wrong_kind_is_named(name, value, scheme):
    with pytest.raises(ConfigurationError, match=name) as caught:
        read(**{name: value})
    assert scheme in str(caught.value)


def test_secret_comes_from_a_file(tmp_path):
    secret = tmp_path / "key"
    secret.write_text("from the file\n")
    assert read(WEIR_SECRET_KEY_FILE=str(secret)).secret_key == "from the file"


def test_file_alone_is_enough(tmp_path):
    url = tmp_path / "url"
    url.write_text(GOOD["DATABASE_URL"])
    without = {name: value for name, value in GOOD.items() if name != "DATABASE_URL"}
    environment = read_environment({**without, "DATABASE_URL_FILE": str(url)})
    assert environment.database_url == GOOD["DATABASE_URL"]


def test_secret_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"WEIR_SECRET_KEY_FILE=.*No such file"):
        read(WEIR_SECRET_KEY_FILE=str(tmp_path / "absent"))


def test_empty_secret_file_is_a_missing_secret(tmp_path):
    empty = tmp_path / "key"
    empty.write_text("\n")
    with pytest.raises(ConfigurationError, match="WEIR_SECRET_KEY is not set"):
        read(WEIR_SECRET_KEY_FILE=str(empty))


@pytest.mark.parametrize(("text", "value"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_flag(text, value):
    assert read(WEIR_SECURE_COOKIES=text).secure_cookies is value


def test_malformed_flag_is_named():
    with pytest.raises(ConfigurationError, match="WEIR_SECURE_COOKIES='maybe'"):
        read(WEIR_SECURE_COOKIES="maybe")


def test_allowed_hosts_are_split():
    assert read(WEIR_ALLOWED_HOSTS="weir.example.org,weir").allowed_hosts == (
        "weir.example.org",
        "weir",
    )


def test_database_address_becomes_settings():
    settings = database_settings("postgres://we%40ir:se%2Fcret@db:5433/weir")
    assert (settings["NAME"], settings["USER"], settings["PASSWORD"]) == (
        "weir",
        "we@ir",
        "se/cret",
    )
    assert (settings["HOST"], settings["PORT"]) == ("db", "5433")


@pytest.mark.parametrize(
    "url",
    [
        "postgres://weir@db:5432",
        "postgres://weir@db:5432/",
        "postgres://weir@db:port/weir",
    ],
)
def test_malformed_database_address_is_named(url):
    with pytest.raises(ConfigurationError, match="DATABASE_URL"):
        database_settings(url)


def test_private_networks_and_the_folder_of_credentials_are_read() -> None:
    environment = read(WEIR_PRIVATE_NETWORKS="10.1.0.0/16, fd00::/8", WEIR_CREDENTIALS_DIR="/run/s")
    assert [str(network) for network in environment.private_networks] == ["10.1.0.0/16", "fd00::/8"]
    assert environment.credentials_dir == Path("/run/s")
    assert environment.plain_http is False
    assert (read().private_networks, read().credentials_dir) == ((), None)


def test_a_mail_server_is_read() -> None:
    assert read().mail is None
    sender = {"WEIR_MAIL_FROM": "Weir <weir@example.org>"}
    mail = read(WEIR_SMTP_URL="smtp://we%40ir:p%3Aw@mail.example.org", **sender).mail
    assert mail is not None
    assert (mail.host, mail.port, mail.user, mail.password) == (
        *("mail.example.org", 587, "we@ir", "p:w"),
    )
    assert (mail.starttls, mail.tls, mail.sender) == (True, False, sender["WEIR_MAIL_FROM"])
    mail = read(WEIR_SMTP_URL="smtps://mail.example.org", **sender).mail
    assert mail is not None
    assert (mail.port, mail.starttls, mail.tls) == (465, False, True)
    mail = read(WEIR_SMTP_URL="smtp://127.0.0.1:25?starttls=no", **sender).mail
    assert mail is not None
    assert (mail.port, mail.starttls, mail.tls) == (25, False, False)
    assert "p:w" not in repr(read(WEIR_SMTP_URL="smtp://weir:p%3Aw@mail.example.org", **sender))


def test_a_proxy_is_read_with_what_goes_past_it() -> None:
    assert read().outgoing_proxy is None
    spared = "Tickets.example.org, .corp.example 10.1.0.0/16,::1"
    exceptions = {"WEIR_OUTGOING_PROXY_EXCEPT": spared}
    address = "http://we%40ir:p%3Aw@Proxy.example.org:3128/"
    proxy = read(WEIR_OUTGOING_PROXY=address, **exceptions).outgoing_proxy
    assert proxy is not None
    assert (str(proxy), proxy.user, proxy.password) == ("proxy.example.org:3128", "we@ir", "p:w")
    assert proxy.except_names == ("tickets.example.org", ".corp.example")
    assert [str(one) for one in proxy.except_networks] == ["10.1.0.0/16", "::1/128"]
    assert "p:w" not in repr(read(WEIR_OUTGOING_PROXY=address))
    assert str(read(WEIR_OUTGOING_PROXY="http://[::1]:8080").outgoing_proxy) == "[::1]:8080"


@pytest.mark.parametrize(
    "url",
    [
        "proxy.example.org:3128",
        "socks5://proxy.example.org:1080",
        "https://proxy.example.org:3128",
        "http://proxy.example.org",
        "http://proxy.example.org:0",
        "http://proxy.example.org:many",
        "http://proxy.example.org:3128/path",
        "http://proxy.example.org:3128?a=b",
        "http://weir:secret/word@proxy.example.org:3128",
        "http://weir:123#x@proxy.example.org:3128",
        "http://weir@proxy.example.org:3128",
        "http://we%3Air:secret@proxy.example.org:3128",
        "http://[bad",
    ],
)
def test_an_address_that_is_no_proxy_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="WEIR_OUTGOING_PROXY") as error:
        read(WEIR_OUTGOING_PROXY=url)
    assert "secret" not in str(error.value)


def test_links_lead_where_people_reach_the_pages(tmp_path: Path) -> None:
    assert read().public_url == "https://weir.example.org"
    assert read(WEIR_PUBLIC_URL="https://weir.test/").public_url == "https://weir.test"
    file = tmp_path / "url"
    file.write_text("https://weir.test\n")
    assert read(WEIR_PUBLIC_URL_FILE=str(file)).public_url == "https://weir.test"
    assert read(WEIR_WEB_URL="", WEIR_WEB_URL_FILE=str(file)).public_url == "https://weir.test"
    with pytest.raises(ConfigurationError, match="WEIR_PUBLIC_URL"):
        read(WEIR_PUBLIC_URL="weir.test")


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.org",
        "http://mail.example.org",
        "smtp://",
        "smtp://mail.example.org:many",
        "smtp://mail.example.org/path",
        "smtp://mail.example.org?tls=no",
        "smtps://mail.example.org?starttls=no",
        "smtp://weir:secret/word@mail.example.org",
        "smtp://weir:123#x@mail.example.org",
        "smtp://[bad",
        "smtp://weir@mail.example.org",
    ],
)
def test_an_address_that_is_no_mail_server_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="WEIR_SMTP_URL") as error:
        read(WEIR_SMTP_URL=url, WEIR_MAIL_FROM="weir@example.org")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("sender", ["", "weir@", "Weir", "Weir, all <weir@example.org>"])
def test_e_mail_needs_an_address_to_come_from(sender: str) -> None:
    with pytest.raises(ConfigurationError, match="WEIR_MAIL_FROM"):
        read(WEIR_SMTP_URL="smtp://mail.example.org", WEIR_MAIL_FROM=sender)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WEIR_PRIVATE_NETWORKS", "10.1.0.1/16"),
        ("WEIR_PRIVATE_NETWORKS", "intranet"),
        ("WEIR_CREDENTIALS_DIR", "secrets"),
        ("WEIR_PLAIN_HTTP", "maybe"),
        ("WEIR_OUTGOING_PROXY_EXCEPT", "10.1.0.1/16"),
        ("WEIR_OUTGOING_PROXY_EXCEPT", "10.1.0.300"),
        ("WEIR_OUTGOING_PROXY_EXCEPT", "*.example.org"),
        ("WEIR_OUTGOING_PROXY_EXCEPT", "https://example.org"),
    ],
)
def test_what_would_allow_something_else_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        read(**{name: value})


def test_the_limit_of_tokens_is_a_number_of_requests() -> None:
    name = "WEIR_API_REQUESTS_PER_MINUTE"
    assert read().api_requests_per_minute == 1200
    assert read(**{name: "0"}).api_requests_per_minute == 0
    for wrong in ("-1", "many", "600001", "1.5"):
        with pytest.raises(ConfigurationError, match=f"{name}={wrong!r}: write a whole number"):
            read(**{name: wrong})
