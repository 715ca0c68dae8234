"""Command line, environment, and the sentences that say what is wrong."""

from __future__ import annotations

import argparse
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from agent import config
from agent.__main__ import DRIVERS, main
from agent.drivers.nats.server_config import BrokerSecrets
from agent.fleet import FleetOptions

ROOT = Path(__file__).parents[2]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "credential").write_text("weira_secret\n")
    BrokerSecrets.generate(client_key="k").save(tmp_path / "secrets.json")
    return {
        "control-plane": "http://127.0.0.1:8000/",
        "credential-file": str(tmp_path / "credential"),
        "broker": "nats://127.0.0.1:4222",
        "state-dir": str(tmp_path / "state"),
        "secrets-file": str(tmp_path / "secrets.json"),
    }


def parsed(given: dict[str, str], environment: dict[str, str] | None = None) -> config.Options:
    parser = argparse.ArgumentParser()
    config.add_arguments(parser)
    line = [word for name, value in given.items() for word in (f"--{name}", value)]
    return config.options(parser.parse_args(line), environment or {})


def test_reads_the_command_line(files: dict[str, str]) -> None:
    options = parsed(files)
    assert options.control_plane == "http://127.0.0.1:8000"
    assert options.credential == "weira_secret"
    assert options.address == ""
    assert options.secrets is not None
    assert options.secrets.client_key == "k"
    assert (options.admission_lease_s, options.report_every_s) == (3600.0, 1.0)


def test_reads_the_environment_and_prefers_the_command_line(files: dict[str, str]) -> None:
    environment = {
        "WEIR_AGENT_" + name.replace("-", "_").upper(): value for name, value in files.items()
    }
    assert parsed({}, environment).broker == "nats://127.0.0.1:4222"
    assert parsed({"broker": "nats://h:1"}, environment).broker == "nats://h:1"


@pytest.mark.parametrize("name", ["control-plane", "credential-file", "broker", "state-dir"])
def test_names_what_is_missing(files: dict[str, str], name: str) -> None:
    del files[name]
    with pytest.raises(config.ConfigError, match=f"--{name} .*is missing"):
        parsed(files)


def test_every_scheme_of_a_broker_has_a_driver() -> None:
    assert set(DRIVERS) == set(config.SCHEMES)
    for product, _ in DRIVERS.values():
        assert (ROOT / "agent" / "drivers" / product / "driver.py").is_file()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("control-plane", "weir.example.org", "not an http"),
        ("control-plane", "http://weir.example.org", "unencrypted to another machine"),
        ("credential-file", "/nowhere/credential", "credential-file"),
        ("broker", "127.0.0.1:4222", "not a nats://"),
        ("broker", "nats://h:port", "not a nats://"),
        ("address", "http://h", "--address"),
        ("secrets-file", "/nowhere/secrets.json", "--secrets-file"),
        ("admission-lease-s", "soon", "not a number"),
        ("admission-lease-s", "5", "at least 30"),
        ("report-every-s", "0", "at least 0.1"),
        ("report-every-s", "nan", "at least 0.1"),
        ("ca-file", "/nowhere/ca.pem", "not a file"),
        ("multicast", "239.192.0.0/33", "--multicast: "),
        ("multicast", "10.0.0.0/8", "--multicast: 10.0.0.0/8 is no range of multicast"),
        ("multicast", "239.192.0.1/16", "--multicast: .* has host bits set"),
        ("multicast", "224.0.0.0/16", "--multicast: .* every port"),
        ("multicast", "239.192.0.5", "no address for a group"),
        ("multicast", "ff05::/16", "--multicast: "),
        ("multicast-port", "7424", "without --multicast"),
        ("multicast-interface", "10.0.0.1", "without --multicast"),
        ("multicast-hops", "1", "without --multicast"),
    ],
)
def test_says_what_is_wrong(files: dict[str, str], name: str, value: str, says: str) -> None:
    with pytest.raises(config.ConfigError, match=says):
        parsed({**files, name: value})


def test_multicast_has_a_port_and_hops_unless_they_are_given(files: dict[str, str]) -> None:
    assert parsed(files).multicast is None
    files["multicast"] = "239.192.0.0/16"
    least = parsed(files).multicast
    assert least is not None
    assert (least.addresses.port, least.interface, least.hops) == (7424, "", 1)
    assert str(least.addresses.of(0)) == "239.192.0.1"
    more = {"multicast-port": "5000", "multicast-interface": "10.0.0.1", "multicast-hops": "0"}
    given = parsed({**files, **more}).multicast
    assert given is not None
    assert (given.addresses.port, given.interface, given.hops) == (5000, "10.0.0.1", 0)
    for name, value in (
        ("multicast-port", "0"),
        ("multicast-port", "65536"),
        ("multicast-port", "x"),
        ("multicast-hops", "256"),
        ("multicast-hops", "-1"),
        ("multicast-interface", "eth0"),
        ("multicast-interface", "::1"),
        ("multicast-interface", "239.1.1.1"),
        ("multicast-interface", "0.0.0.0"),
    ):
        with pytest.raises(config.ConfigError, match=f"--{name}: "):
            parsed({**files, name: value})


def test_plain_http_is_allowed_on_request(files: dict[str, str]) -> None:
    environment = {"WEIR_AGENT_PLAIN_HTTP": "1"}
    url = "http://weir.example.org"
    assert parsed({**files, "control-plane": url}, environment).control_plane == url


def test_no_password_leaves_in_the_address(files: dict[str, str]) -> None:
    given = {**files, "broker": "nats://agent:secret@10.0.0.1:4222"}
    assert parsed(given).address == ""
    with pytest.raises(config.ConfigError, match="--address: holds a user"):
        parsed({**given, "address": "nats://agent:secret@10.0.0.1:4222"})


def test_a_file_without_certificates_is_named(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("none")
    for name in ("ca-file", "broker-ca-file"):
        with pytest.raises(config.ConfigError, match=f"--{name}: .* holds no certificates"):
            parsed({**files, name: str(tmp_path / "ca.pem")})


@pytest.mark.parametrize("text", ["", "two words", "line\nline"])
def test_a_file_without_one_credential_is_refused(
    files: dict[str, str], tmp_path: Path, text: str
) -> None:
    (tmp_path / "credential").write_text(text)
    with pytest.raises(config.ConfigError, match="does not hold one credential"):
        parsed(files)


def test_the_command_ends_with_two_and_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 2
    assert capsys.readouterr().err.startswith("agent: --control-plane")


def test_a_fleet_needs_credentials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = "http://127.0.0.1:1"
    assert main(["fleet", "--control-plane", url, "--credentials", str(tmp_path)]) == 2
    assert "holds no file <broker>.credential" in capsys.readouterr().err


def fleet(tmp_path: Path, **given: str) -> FleetOptions:
    (tmp_path / "a.credential").write_text("weira_secret\n")
    parser = argparse.ArgumentParser()
    config.add_fleet_arguments(parser)
    line = ["--control-plane", "http://127.0.0.1:8000", "--credentials", str(tmp_path)]
    line += ["--state-dir", str(tmp_path / "state")]
    for name, value in given.items():
        line += ["--" + name.replace("_", "-"), value]
    return config.fleet_options(parser.parse_args(line), {})


def test_a_fleet_has_defaults_and_least_values(tmp_path: Path) -> None:
    made = fleet(tmp_path)
    assert made.credentials == {"a": "weira_secret"}
    assert (made.seed, made.speed, made.offered_per_s, made.crowd) == (1, 1.0, 20.0, 8)
    assert made.report_every_s == 5.0
    least = fleet(tmp_path, seed="0", speed="0.01", offered_per_s="0", crowd="1")
    assert (least.seed, least.speed, least.offered_per_s, least.crowd) == (0, 0.01, 0.0, 1)
    for name, value in (("seed", "-1"), ("speed", "0"), ("crowd", "0"), ("crowd", "1.5")):
        with pytest.raises(config.ConfigError, match=f"--{name}"):
            fleet(tmp_path, **{name: value})


def test_the_installed_command_is_the_module() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts["weir-agent"].partition(":")
    assert getattr(import_module(module), name) is main
