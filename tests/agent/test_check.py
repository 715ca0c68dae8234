"""`python -m agent check`, against a real broker and against nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.__main__ import main
from config.stack import Stack
from config.stack.parts import brokers
from tests.stack.support import plain_environment

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    state: Path = tmp_path_factory.mktemp("broker")
    stack = Stack(state_dir=state, parts=("broker-rot-1",), given=plain_environment())
    stack.up()
    password = brokers.secrets_of(stack.site, "rot-1").agent_password
    yield brokers.address_of(stack.site, "rot-1").replace("//", f"//agent:{password}@")
    stack.down()


def test_says_what_broker_answers(broker: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", broker]) == 0
    said = capsys.readouterr().out
    assert said.startswith("NATS 2.")
    assert "with JetStream" in said
    assert "round trip" in said


def test_wrong_password_is_told(broker: str, capsys: pytest.CaptureFixture[str]) -> None:
    scheme, _, rest = broker.partition("://")
    address = f"{scheme}://agent:wrong@{rest.rpartition('@')[2]}"
    assert main(["check", address]) == 1
    assert "the broker did not answer" in capsys.readouterr().err


def test_nobody_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "nats://127.0.0.1:1"]) == 1
    assert "127.0.0.1" in capsys.readouterr().err
