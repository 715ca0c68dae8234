"""`python -m agent.drivers.nats.configure`: two files that belong together, written again alike."""

import json
import stat
import subprocess
import sysconfig
from pathlib import Path

import pytest

from agent.drivers.nats.configure import main
from agent.drivers.nats.link_access import LinkKey
from agent.drivers.nats.server_config import BrokerSecrets


def configure(folder: Path, *more: str) -> int:
    store = ("--store-dir", str(folder / "streams"))
    return main(["--name", "rot-1", "--out", str(folder), *store, *more])


def test_server_accepts_the_file_and_shares_the_agents_secrets(tmp_path: Path) -> None:
    assert configure(tmp_path) == 0
    secrets = BrokerSecrets.load(tmp_path / "secrets.json")
    text = (tmp_path / "nats.conf").read_text()
    assert secrets.issuer in text
    assert secrets.issuer_seed not in text
    assert stat.S_IMODE((tmp_path / "nats.conf").stat().st_mode) == 0o600
    program = Path(sysconfig.get_path("scripts")) / "nats-server"
    done = subprocess.run(
        [program, "-t", "--config", tmp_path / "nats.conf"], capture_output=True, timeout=20
    )
    assert done.returncode == 0, done.stderr


def test_again_keeps_the_secrets_and_takes_up_a_new_key(tmp_path: Path) -> None:
    configure(tmp_path)
    before = BrokerSecrets.load(tmp_path / "secrets.json")
    configure(tmp_path)
    assert BrokerSecrets.load(tmp_path / "secrets.json") == before
    (tmp_path / "key").write_text("shared-by-all\n")
    configure(tmp_path, "--client-key-file", str(tmp_path / "key"))
    after = BrokerSecrets.load(tmp_path / "secrets.json")
    assert after.client_key == "shared-by-all"
    assert (after.link_seed, after.issuer_seed) == (before.link_seed, before.issuer_seed)


def test_secrets_of_before_links_had_keys_are_completed(tmp_path: Path) -> None:
    configure(tmp_path)
    path = tmp_path / "secrets.json"
    plain = json.loads(path.read_text())
    del plain["link_seed"]
    path.write_text(json.dumps({**plain, "link_key": "shared by all"}))
    assert configure(tmp_path) == 0
    after = json.loads(path.read_text())
    assert "link_key" not in after
    assert LinkKey(after["link_seed"]).public.startswith("U")
    assert {name: after[name] for name in plain} == plain
    assert BrokerSecrets.load(path).link_seed == after["link_seed"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_seed_that_is_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(tmp_path)
    path = tmp_path / "secrets.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "link_seed": "SUSUSU"}))
    assert configure(tmp_path) == 2
    assert "link_seed" in capsys.readouterr().err


def test_the_server_is_given_no_seed_and_its_folder_no_secrets(tmp_path: Path) -> None:
    assert configure(tmp_path / "server", "--secrets-out", str(tmp_path / "agent")) == 0
    secrets = BrokerSecrets.load(tmp_path / "agent" / "secrets.json")
    assert [path.name for path in (tmp_path / "server").iterdir()] == ["nats.conf"]
    text = (tmp_path / "server" / "nats.conf").read_text()
    for seed in (secrets.link_seed, secrets.issuer_seed, secrets.client_key):
        assert seed not in text


def test_certificate_and_key_belong_together(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        configure(tmp_path, "--tls-cert", "cert.pem")


def test_wrong_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "key").write_text("two words")
    assert configure(tmp_path, "--client-key-file", str(tmp_path / "key")) == 2
    assert "--client-key-file" in capsys.readouterr().err
    (tmp_path / "secrets.json").write_text("{}")
    assert configure(tmp_path) == 2
    assert "agent_password is missing" in capsys.readouterr().err
