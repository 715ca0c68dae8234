"""The images and the compose file, as far as they can be checked without an engine."""

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from django.conf import settings

from agent import config
from agent.drivers.nats import configure
from config.env import read_environment
from config.stack.site import ROOT

DOCKER = ROOT / "docker"
SENDING = ("web", "imports")
"""What sends to ServiceNow and others, to webhooks and to chats."""

OURS = ("migrate", "web", "worker", "control", "imports", "beat", "coordinator")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    return loaded


@pytest.fixture(scope="module")
def stages() -> dict[str, list[list[str]]]:
    """Stage name -> its instructions, first its FROM."""
    text = (DOCKER / "Dockerfile").read_text().replace("\\\n", " ")
    by_stage: dict[str, list[list[str]]] = {}
    name = ""
    for line in text.splitlines():
        words = line.split(maxsplit=1)
        if len(words) < 2 or words[0].startswith("#"):
            continue
        if words[0] == "FROM":
            name = words[1].split()[-1]
            by_stage[name] = []
        by_stage[name].append(words)
    return by_stage


def default_values(text: str) -> str:
    """What compose makes of ${NAME:-default} when the variable is not set."""
    return re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", text)


def runs(command: list[str]) -> None:
    assert command[0] == "python", command
    if command[1] == "-m":
        module = importlib.util.find_spec(command[2])
        assert module is not None, f"no module {command[2]}"
        if module.submodule_search_locations is not None:
            main = f"{command[2]}.__main__"
            assert importlib.util.find_spec(main), f"{command[2]} cannot be run"
    else:
        assert (ROOT / command[1]).exists(), command


def secrets_of(tmp_path: Path) -> Path:
    shutil.copy(DOCKER / "make-secrets", tmp_path)
    for _ in range(2):
        done = subprocess.run([tmp_path / "make-secrets"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert done.stdout == "", "a second call must keep what is there"
    return tmp_path / "secrets"


def test_every_copied_source_exists_and_reaches_the_build(
    stages: dict[str, list[list[str]]],
) -> None:
    ignored = (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()
    allowed = tuple(line[1:] for line in ignored if line.startswith("!"))
    for instructions in stages.values():
        for name, rest in instructions:
            if name != "COPY" or rest.startswith("--from="):
                continue
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert source.startswith(allowed), f"{source} is kept from the build"


def test_every_stage_builds_on_an_earlier_one_or_an_image(
    stages: dict[str, list[list[str]]],
) -> None:
    seen: set[str] = set()
    for name, instructions in stages.items():
        base = instructions[0][1].split()[0]
        assert base in seen or ":" in base, base
        for copied in (rest for word, rest in instructions if word == "COPY"):
            if copied.startswith("--from="):
                assert copied.split()[0].removeprefix("--from=") in seen
        seen.add(name)


@pytest.mark.parametrize(
    "target", ["web", "worker", "control", "imports", "beat", "coordinator", "spark", "agent"]
)
def test_image_starts_something_that_exists_and_not_as_root(
    stages: dict[str, list[list[str]]], target: str
) -> None:
    instructions = dict(stages[target][1:])
    assert instructions["USER"] == "weir"
    runs(json.loads(instructions["CMD"]))


def test_kernels_are_compiled_into_the_image_by_who_runs_them(
    stages: dict[str, list[list[str]]],
) -> None:
    """The processes of the image may write to the folder: another processor compiles anew."""
    base = stages["control-plane"]
    folder = next(
        word.removeprefix("NUMBA_CACHE_DIR=/srv/weir/")
        for name, rest in base
        for word in rest.split()
        if name == "ENV" and word.startswith("NUMBA_CACHE_DIR=")
    )
    step = next(rest for name, rest in base if name == "RUN" and "warm_up" in rest)
    assert f"install -d -o weir -g weir {folder} &&" in " ".join(step.split())
    assert "--reuid weir" in step
    compiled = re.findall(r"--clear-groups (python -m \S+)", step)
    for command in compiled:
        runs(command.split())
    in_place = re.findall(r"python -m weir\.warm_up(?: \w+)?", (ROOT / "Makefile").read_text())
    assert sorted(in_place) == ["python -m weir.warm_up", "python -m weir.warm_up optimizers"]
    assert compiled == ["python -m weir.warm_up"], "the image compiles all kernels"
    for target in ("web", "worker", "control", "imports", "beat", "coordinator", "spark"):
        assert stages[target][0][1].split()[0] == "control-plane"


def test_workers_take_from_every_queue(stages: dict[str, list[list[str]]]) -> None:
    taken = set()
    for target in ("worker", "control", "imports"):
        command = json.loads(dict(stages[target][1:])["CMD"])
        taken |= set(command[command.index("--queues") + 1].split(","))
    routes = settings.CELERY_TASK_ROUTES.values()
    assert taken == {settings.CELERY_TASK_DEFAULT_QUEUE, *(way["queue"] for way in routes)}


def test_images_keep_pins_and_leave_embedded_servers_out(
    stages: dict[str, list[list[str]]],
) -> None:
    run = next(rest for word, rest in stages["packages"] if word == "RUN")
    assert "--require-hashes" in run
    left_out = run.split("--without", 1)[1].split(">", 1)[0].split()
    script = [str(DOCKER / "select_requirements.py"), str(ROOT / "requirements" / "runtime.txt")]
    text = subprocess.run(
        [sys.executable, *script, "--without", *left_out],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = re.findall(r"^([A-Za-z0-9._-]+)(?:\[.*])?==", text, re.MULTILINE)
    assert {"django", "granian", "celery", "pyspark"} <= set(names)
    assert not set(left_out) & set(names)
    assert text.count("--hash=sha256:") >= len(names)


def test_services_point_to_things_that_exist(compose: dict[str, Any], tmp_path: Path) -> None:
    services = compose["services"]
    places = (DOCKER, secrets_of(tmp_path).parent)
    for name, service in services.items():
        assert ("image" in service) != ("build" in service), name
        if "build" in service:
            context = (DOCKER / service["build"]["context"]).resolve()
            assert context == ROOT
            assert (context / service["build"]["dockerfile"]).exists()
        for needed in service.get("depends_on", {}):
            assert needed in services
        for secret in service.get("secrets", []):
            assert secret in compose["secrets"]
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            is_there = any((place / source).exists() for place in places)
            assert source in compose["volumes"] or is_there, source
        for file in service.get("env_file", []):
            assert any((place / file["path"]).is_file() for place in places), file
    runs(services["migrate"]["command"])


def test_service_waits_only_for_health_that_is_probed(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for needed, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "healthcheck" in compose["services"][needed]


def test_only_the_web_server_is_published(compose: dict[str, Any]) -> None:
    published = {name for name, service in compose["services"].items() if "ports" in service}
    assert published == {"web"}
    (port,) = compose["services"]["web"]["ports"]
    assert default_values(port).startswith("127.0.0.1:")
    assert compose["networks"]["inside"]["internal"] is True


def test_application_accepts_the_environment_of_its_services(
    compose: dict[str, Any], tmp_path: Path
) -> None:
    secrets = secrets_of(tmp_path)
    made = {path.name for path in secrets.iterdir()}
    assert made == {*compose["secrets"], "credentials", "credentials.env"}
    for name in OURS:
        service = compose["services"][name]
        values = {
            key: default_values(str(value)).replace("/run/secrets", str(secrets))
            for key, value in service["environment"].items()
        }
        read = read_environment(values)
        hosts = [
            urlsplit(url).hostname
            for url in (read.database_url, read.broker_url, read.spark_remote)
        ]
        assert hosts == ["postgres", "valkey", "spark"]
        assert "web" in read.allowed_hosts
        # Nothing is set that nobody reads.
        known = (ROOT / "config" / "env.py").read_text() + "DJANGO_SETTINGS_MODULE"
        assert [key for key in values if key.removesuffix("_FILE") not in known] == []


def test_agent_accepts_the_environment_of_its_service(
    compose: dict[str, Any], tmp_path: Path
) -> None:
    """With the files that its one-shot and `enrol_agents` write."""
    secrets = secrets_of(tmp_path)
    shown = {
        "/run/secrets": secrets,
        "/broker": tmp_path / "broker",
        "/secrets": tmp_path / "agent-secrets",
        "/agents": tmp_path / "agents",
        "/state": tmp_path / "state",
    }
    for folder in ("broker", "agents"):
        (tmp_path / folder).mkdir()

    def here(value: str) -> str:
        option, equals, path = default_values(value).rpartition("=")
        for inside, outside in shown.items():
            if path.startswith(inside):
                return f"{option}{equals}{outside}{path.removeprefix(inside)}"
        return option + equals + path

    runs(compose["services"]["broker-config"]["command"])
    command = [here(word) for word in compose["services"]["broker-config"]["command"][3:]]
    assert configure.main(command) == 0
    (tmp_path / "agents" / "broker-1.credential").write_text("secret\n")
    environment = {
        name: here(value) for name, value in compose["services"]["agent"]["environment"].items()
    }
    parser = argparse.ArgumentParser()
    config.add_arguments(parser)
    options = config.options(parser.parse_args([]), environment)
    assert options.control_plane == "http://web:8000"
    assert (options.broker, options.address) == ("nats://nats:4222", "")
    assert options.secrets is not None
    assert options.secrets.client_key == (secrets / "client_key").read_text()
    # Nothing is set that nobody reads.
    known = {f"{config.PREFIX}{action.dest.upper()}" for action in parser._actions}
    assert set(environment) <= known


def test_credentials_and_secrets_reach_whom_they_are_for_and_nobody_else(
    compose: dict[str, Any],
) -> None:
    """Volume -> who sees it, and who may write to it."""
    sees: dict[str, set[str]] = {}
    writes: dict[str, set[str]] = {}
    for name, service in compose["services"].items():
        for volume in service.get("volumes", []):
            source, _, *how = volume.split(":")
            sees.setdefault(source, set()).add(name)
            if how != ["ro"]:
                writes.setdefault(source, set()).add(name)
    assert sees["agent-credential"] == {"enrol", "agent"}
    assert writes["agent-credential"] == {"enrol"}
    assert sees["agent-secrets"] == {"broker-config", "agent"}
    assert writes["agent-secrets"] == {"broker-config"}
    assert sees["broker"] == {"broker-config", "nats"}
    assert sees["agent-state"] == {"agent"}
    assert sees["./secrets/credentials"] == set(SENDING)
    assert "./secrets/credentials" not in writes
    reading = {name for name, service in compose["services"].items() if "env_file" in service}
    assert reading == set(SENDING)
    clients = {n for n, s in compose["services"].items() if "client_key" in s.get("secrets", [])}
    assert clients == {"broker-config"}


def test_credentials_of_other_systems_are_found_by_those_who_send_to_them(
    compose: dict[str, Any], tmp_path: Path
) -> None:
    """As `file:/run/secrets/weir/servicenow`, and as variables of the processes."""
    secrets = secrets_of(tmp_path)
    file = secrets / "credentials" / "servicenow"
    file.write_text("weir:correct horse")
    file.chmod(0o600)
    secrets_of(tmp_path)
    assert file.read_text() == "weir:correct horse"
    # Another user reads them inside; outside the folder above keeps others away.
    modes = [path.stat().st_mode & 0o777 for path in (file, file.parent, secrets)]
    assert modes == [0o444, 0o755, 0o700]
    for name in SENDING:
        service = compose["services"][name]
        mounted = dict(volume.split(":")[:2] for volume in service["volumes"])
        inside = mounted["./secrets/credentials"]
        assert mounted["shared"] == "/data"
        assert service["networks"] == ["inside", "outside"]
        values = {
            key: default_values(str(value)).replace("/run/secrets/", f"{secrets}/")
            for key, value in service["environment"].items()
        }
        read = read_environment({**values, "WEIR_CREDENTIALS_DIR": inside})
        assert service["environment"]["WEIR_CREDENTIALS_DIR"] == inside == "/run/secrets/weir"
        assert (read.credentials_dir, read.outgoing_proxy) == (Path(inside), None)
        assert (read.private_networks, read.plain_http) == ((), False)


def test_worker_that_sees_credentials_takes_what_is_sent_with_them(
    stages: dict[str, list[list[str]]],
) -> None:
    command = json.loads(dict(stages["imports"][1:])["CMD"])
    queues = command[command.index("--queues") + 1].split(",")
    for task in ("integrations.work", "webhooks.send", "notifications.post"):
        assert settings.CELERY_TASK_ROUTES[task]["queue"] in queues


def test_enrolment_writes_where_the_agent_reads(compose: dict[str, Any]) -> None:
    services = compose["services"]
    runs(services["enrol"]["entrypoint"])
    options = dict(word.split("=", 1) for word in services["enrol"]["entrypoint"] if "=" in word)
    environment = services["agent"]["environment"]
    file = default_values(environment["WEIR_AGENT_CREDENTIAL_FILE"])
    assert file == f"{options['--out']}/{default_values(options['--broker'])}.credential"


def test_spark_reads_what_its_service_sets(compose: dict[str, Any]) -> None:
    source = (ROOT / "config" / "stack" / "spark_server.py").read_text()
    for name in compose["services"]["spark"]["environment"]:
        assert name in source


def test_no_secret_stands_in_a_file() -> None:
    for path in DOCKER.iterdir():
        if path.is_file():
            text = path.read_text()
            assert not re.search(r"://\w*:[A-Za-z0-9]{6,}@", text), path
    assert "secrets/" in (DOCKER / ".gitignore").read_text()


@pytest.mark.skipif(
    shutil.which("docker") is None
    or subprocess.run(["docker", "compose", "version"], capture_output=True).returncode != 0,
    reason="the docker client has no compose plugin here",
)
def test_compose_itself_accepts_the_file() -> None:
    done = subprocess.run(
        ["docker", "compose", "--file", str(DOCKER / "compose.yaml"), "config", "--quiet"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
