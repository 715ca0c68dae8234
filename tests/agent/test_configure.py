"""`python -m agent.drivers.nats.configure`: two files that belong together, written again alike."""

import stat
import subprocess
import sysconfig
from pathlib import Path

import pytest

from agent.drivers.nats.configure import main
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
    assert (after.link_key, after.issuer_seed) == (before.link_key, before.issuer_seed)


def test_wrong_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "key").write_text("two words")
    assert configure(tmp_path, "--link-key-file", str(tmp_path / "key")) == 2
    assert "--link-key-file" in capsys.readouterr().err
    (tmp_path / "secrets.json").write_text("{}")
    assert configure(tmp_path) == 2
    assert "agent_password is missing" in capsys.readouterr().err
