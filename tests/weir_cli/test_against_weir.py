"""The command line against Weir itself: systems as files, plans, refusals."""

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.allocations.services import allocation_request
from apps.audit.models import AuditEntry
from apps.catalog.models import Interest, Subscriber, Topic
from apps.executions.services import executions_tick
from apps.plans.models import Plan
from apps.plans.services import plans_settle
from apps.runs.models import Run
from apps.runs.services.computations import run_store
from apps.systems.models import System
from apps.systems.services import system_delete
from apps.telemetry.models import Agent
from apps.topology.models import Broker
from tests.factories import make_class, make_system, make_topic, make_user
from tests.factories.fleet import Harbour, make_harbour
from tests.factories.kinds import World, make_world
from tests.factories.plans import agents_come, agents_look
from tests.factories.runs import claim, kernel_answer
from tests.weir_cli.terminal import InProcess, Terminal
from weir_cli.__main__ import KINDS, main
from weir_cli.folder import FILES

pytestmark = [
    pytest.mark.django_db,
    # Under ASGI, as it is served, nothing is gathered.
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume:Warning"),
]


@pytest.fixture
def world(db: None) -> World:
    world = make_world()
    subscriber = Subscriber.objects.create(system=world.system, name="=risk")
    Interest.objects.create(subscriber=subscriber, topic=world.topic)
    Subscriber.objects.create(system=world.system, name="idle")
    return world


@pytest.fixture
def folder(weir: Terminal, world: World, tmp_path: Path) -> Path:
    """The files of the harbour."""
    assert weir("export", "harbour", tmp_path / "harbour") == 0, weir.err
    return tmp_path / "harbour"


def edited(folder: Path, kind: str, **rows: Any) -> None:
    """Change rows of a file by name: members to change, or None to take the row out; what is not
    there is added."""
    path = folder / FILES[kind]
    by_name = {row["name"]: row for row in json.loads(path.read_text())}
    for name, members in rows.items():
        name = name.replace("_", "-")
        if members is None:
            del by_name[name]
        else:
            by_name[name] = {**by_name.get(name, {"name": name}), **members}
    path.write_text(json.dumps([*by_name.values()]))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def history() -> int:
    return AuditEntry.objects.count()


# --- systems as files


def test_export_wipe_and_import_give_the_same_files_and_hashes(
    weir: Terminal, world: World, folder: Path, admin: User
) -> None:
    assert {*contents(folder)} == {"system.json", "interests.csv", *FILES.values()}
    assert (folder / "interests.csv").read_text() == "subscriber,topic\n'=risk,world-topic\n"
    before = contents(folder)
    snapshot = allocation_request(system=world.system, actor=None).snapshot.content_hash
    id = world.system.public_id
    Run.objects.all().delete()
    system = System.objects.get()
    system_delete(system=system, actor=admin, expected_version=system.version)
    assert not System.objects.exists()

    assert weir("diff", folder) == 1, weir.err
    assert "+ system harbour" in weir.out
    assert not System.objects.exists()
    assert weir("import", folder, "--yes") == 0, weir.err
    again = System.objects.get()
    assert again.public_id == id
    assert weir("export", str(id), folder) == 0
    assert contents(folder) == before
    assert weir("diff", folder) == 0
    assert weir.out == f"harbour ({id}) at http://testserver\nnothing differs\n"
    assert allocation_request(system=again, actor=None).snapshot.content_hash == snapshot


def test_a_change_is_shown_reviewed_by_its_hash_and_carried_out(
    weir: Terminal, world: World, folder: Path
) -> None:
    edited(folder, "broker", world_b1={"region": "eu"})
    edited(folder, "consumer_class", world_class=None)
    edited(folder, "topic", gales={"source": "world-b1", "rate_max_per_s": 50.0})
    (folder / "interests.csv").write_text("subscriber,topic\nidle,gales\n")
    before = history()
    assert weir("diff", folder) == 1
    assert weir.out.splitlines()[:-1] == [
        f"harbour ({world.system.public_id}) at http://testserver",
        "~ broker world-b1",
        '    region: "" → eu',
        "+ topic gales",
        "    rate_max_per_s: 50",
        "    source: world-b1",
        "~ subscriber =risk",
        "    interests:",
        "      - topic world-topic",
        "~ subscriber idle",
        "    interests:",
        "      + topic gales",
        "- consumer class world-class",
        "1 created, 3 changed, 1 deleted, 11 unchanged",
    ]
    change_hash = weir.out.split()[-1]
    assert weir("diff", folder, "--json") == 1
    assert weir.json["change_hash"] == change_hash
    assert history() == before

    # Somebody else edits what the change is about: it is another change now.
    Broker.objects.filter(name="world-b1").update(region="us")
    assert weir("import", folder, "--change-hash", change_hash) == 1
    assert "not the change" in weir.err
    assert history() == before
    Broker.objects.filter(name="world-b1").update(region="")

    assert weir("import", folder, "--change-hash", change_hash, "--reason", "2a41") == 0, weir.err
    assert "weir plan --system harbour" in weir.out
    assert history() > before
    assert {row.reason for row in AuditEntry.objects.order_by("-id")[: history() - before]} == {
        "2a41"
    }
    assert [one.topic.name for one in Interest.objects.all()] == ["gales"]
    assert weir("import", folder, "--change-hash", change_hash) == 0
    assert "nothing differs" in weir.out


class Keyboard(io.StringIO):
    """Standard input at which a person sits."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("Yes\n", 0), ("\n", 1), ("", 1)])
def test_people_are_asked(
    weir: Terminal, folder: Path, monkeypatch: pytest.MonkeyPatch, typed: str, status: int
) -> None:
    edited(folder, "broker", world_b1={"region": "eu"})
    monkeypatch.setattr("sys.stdin", Keyboard(typed))
    assert weir("import", folder) == status
    assert "Carry this out? [y/N]" in weir.err
    assert Broker.objects.filter(region="eu").exists() is (status == 0)


def test_a_pipeline_has_to_say_what_it_agrees_to(
    weir: Terminal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(folder, "broker", world_b1={"region": "eu"})
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert weir("import", folder) == 2
    assert "--change-hash HASH" in weir.err
    assert not Broker.objects.filter(region="eu").exists()


def test_what_weir_refuses_is_named_by_file_and_entry(weir: Terminal, folder: Path) -> None:
    edited(folder, "topic", world_topic={"rate_max_per_s": -1})
    edited(folder, "slo", late={"topic": "nowhere"})
    before = history()
    for command in (["diff"], ["import", "--yes"]):
        assert weir(*command, folder) == 2
        assert weir.out == ""
        assert "topics.json: [0].rate_max_per_s" in weir.err
    assert history() == before
    edited(folder, "topic", world_topic={"rate_max_per_s": 9.0})
    assert weir("diff", folder) == 2
    assert "slos.json: [0].topic" in weir.err


def test_interests_are_named_by_their_line(weir: Terminal, folder: Path) -> None:
    (folder / "interests.csv").write_text("subscriber,topic\nidle,world-topic\nidle,nowhere\n")
    assert weir("diff", folder) == 2
    assert "interests.csv: idle,nowhere: " in weir.err
    (folder / "interests.csv").write_text("subscriber,topic\n'=risk,world-topic\n")
    edited(folder, "subscriber", idle={"interests": [{"topic": "world-topic"}]})
    assert weir("diff", folder) == 2
    assert "subscribers.json: [1].interests: interests.csv says" in weir.err


def test_what_was_reviewed_creates_a_system(weir: Terminal, folder: Path) -> None:
    assert weir("diff", folder, "--as", "staging") == 1
    change_hash = weir.out.split()[-1]
    assert weir("import", folder, "--as", "staging", "--change-hash", change_hash) == 0, weir.err
    assert System.objects.filter(name="staging").exists()


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_no_system(weir: Terminal, folder: Path, name: str) -> None:
    make_system("aaa")
    for command in (
        ["diff", folder, "--as", name],
        ["import", folder, "--yes", "--as", name],
        ["export", name, folder],
        ["list", "topics", "--system", name],
    ):
        assert weir(*command) == 2, command
        assert "name of the system is empty" in weir.err
    unknown = "0196a3f0-6b1c-7d50-a0a6-1c2f65f0a0ff"
    assert weir("diff", folder, "--as", unknown) == 2
    assert "give a new one a name" in weir.err


def test_the_files_of_another_system_are_not_overwritten(weir: Terminal, folder: Path) -> None:
    make_system("second")
    before = contents(folder)
    assert weir("export", "second", folder) == 2
    assert 'has the files of another system, "harbour"' in weir.err
    assert contents(folder) == before


def test_an_edit_after_the_look_is_another_change(
    weir: Terminal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(folder, "broker", world_b1={"region": "eu"})

    class Meddling(Keyboard):
        def readline(self, size: int = -1) -> str:  # type: ignore[override]
            Broker.objects.filter(name="world-b1").update(region="us")
            return "y\n"

    monkeypatch.setattr("sys.stdin", Meddling())
    assert weir("import", folder) == 1
    assert "no longer what the dry run said" in weir.err
    assert Broker.objects.get(name="world-b1").region == "us"


def test_both_sides_of_a_difference_have_all_their_digits(weir: Terminal, folder: Path) -> None:
    edited(folder, "broker", world_b1={"publish_rate_max_per_s": 12345678.25})
    assert weir("import", folder, "--yes") == 0, weir.err
    edited(folder, "broker", world_b1={"publish_rate_max_per_s": 12345678.35})
    assert weir("diff", folder) == 1
    assert "publish_rate_max_per_s: 12345678.25 → 12345678.35" in weir.out


def test_programs_agree_beforehand(
    weir: Terminal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(folder, "broker", world_b1={"region": "eu"})
    monkeypatch.setattr("sys.stdin", Keyboard("y\n"))
    assert weir("import", folder, "--json") == 2
    assert "With --json, name the change" in weir.err
    assert weir("import", folder, "--json", "--yes") == 0
    assert (weir.json["changed"], weir.json["dry_run"]) == (1, False)


class Reader(io.StringIO):
    """A pipe whose other end has read enough."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_what_nobody_reads_is_not_carried_out(
    weir: Terminal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(folder, "broker", world_b1={"region": "eu"})
    with monkeypatch.context() as patched, (folder / "README.md").open("w") as file:
        reader = Reader()
        reader.fileno = file.fileno  # type: ignore[method-assign]
        patched.setattr("sys.stdout", reader)
        status = main(
            ["import", str(folder), "--yes"],
            environment=weir.environment,
            transport=InProcess(),
        )
    assert status == 141
    assert not Broker.objects.filter(region="eu").exists()


def test_a_fault_of_weir_itself_is_no_difference(
    weir: Terminal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("weir_cli.system_files.diff_command", fail)
    assert weir("diff", folder) == 70
    assert "a fault of weir itself" in weir.err


def test_the_settings_file_is_named_too(weir: Terminal, folder: Path) -> None:
    head = json.loads((folder / "system.json").read_text())
    head["settings"]["calibration"]["factor_min"] = "high"
    (folder / "system.json").write_text(json.dumps(head))
    assert weir("diff", folder) == 2
    assert "system.json: settings.calibration.factor_min" in weir.err


def test_files_make_another_system_too(weir: Terminal, folder: Path) -> None:
    assert weir("import", folder, "--as", "staging", "--yes") == 0, weir.err
    staging = System.objects.get(name="staging")
    assert Topic.objects.filter(system=staging).count() == 1
    assert weir("import", folder, "--as", "staging", "--yes") == 0
    assert f"staging ({staging.public_id})" in weir.out
    assert "nothing differs" in weir.out
    assert System.objects.count() == 2
    assert weir("export", "staging", folder.parent / "staging") == 0
    ours, theirs = contents(folder), contents(folder.parent / "staging")
    assert {name for name in ours if ours[name] != theirs[name]} == {"system.json"}


def test_what_files_lack_stays_where_that_is_wanted(weir: Terminal, folder: Path) -> None:
    (folder / "interests.csv").unlink()
    for name in FILES.values():
        if name != "brokers.json":
            (folder / name).unlink()
    edited(folder, "broker", world_b1={"region": "eu"})
    assert weir("import", folder, "--yes") == 0, weir.err
    assert "0 created, 1 changed, 0 deleted" in weir.out
    assert Interest.objects.count() == 1
    (folder / "brokers.json").write_text(
        json.dumps([{"name": "world-b1", "region": "us"}, {"name": "extra", "capacities": []}])
    )
    assert weir("diff", folder) == 2
    assert "world-b2" in weir.err
    assert weir("import", folder, "--keep-rest", "--yes") == 0, weir.err
    assert Broker.objects.count() == 3
    git = {"labels": {"managed-by": "git"}}
    (folder / "brokers.json").write_text(json.dumps([{"name": "world-b1", **git}]))
    assert weir("import", folder, "--within", "managed-by=git", "--yes") == 0, weir.err
    assert Broker.objects.count() == 3


def test_interests_are_left_out_where_that_is_wanted(
    weir: Terminal, world: World, folder: Path
) -> None:
    assert weir("export", "harbour", folder, "--without-interests") == 0
    assert "interests.csv" not in contents(folder)
    assert weir("diff", folder) == 0
    (folder / "interests.csv").write_text("subscriber,topic\nnobody,world-topic\n")
    assert weir("diff", folder) == 2
    assert 'no subscriber "nobody" in subscribers.json' in weir.err


# --- lists, names and refusals


def test_every_kind_is_listed(weir: Terminal, world: World) -> None:
    for kind in KINDS:
        assert weir("list", kind) == 0, (kind, weir.err)
        assert weir("list", kind, "--system", "harbour", "--json") == 0, (kind, weir.err)
        assert isinstance(weir.json, list)
    assert weir("list", "topics") == 0
    head, row = weir.out.splitlines()
    assert head.split()[:2] == ["system", "name"]
    assert row.split()[:2] == ["harbour", "world-topic"]
    assert weir("list", "plans") == 0
    assert weir.out == "No plans.\n"


def test_lists_are_filtered(weir: Terminal, world: World) -> None:
    Topic.objects.update(labels={"team": "port"}, external_id="t-1")
    make_topic(make_system("other"), "elsewhere")
    for filters in (["--label", "team=port"], ["--external-id", "t-1"], ["--search", "world"]):
        assert weir("list", "topics", "--json", *filters) == 0, weir.err
        assert [row["name"] for row in weir.json] == ["world-topic"]
    assert weir("list", "topics", "--most", "1") == 0
    assert "these are the first 1; --most N shows more" in weir.err
    assert weir("list", "topics", "--most", "0", "--json") == 0
    assert (len(weir.json), weir.err) == (2, "")
    assert weir("list", "topics", "--state", "draft") == 2
    assert "topics cannot be filtered by state" in weir.err
    assert weir("list", "plans", "--state", "no-such") == 2


def test_the_system_is_the_one_that_is_meant(weir: Terminal, world: World) -> None:
    for name in ("harbour", str(world.system.public_id)):
        assert weir("list", "topics", "--system", name) == 0
    System.objects.update(external_id="s-1")
    assert weir("list", "topics", "--system", "s-1") == 0
    assert weir("list", "topics", "--system", "nowhere") == 2
    assert 'There is no system "nowhere"' in weir.err
    unknown = "0196a3f0-6b1c-7d50-a0a6-1c2f65f0a0ff"
    assert weir("export", unknown, "x") == 2
    assert weir("show", "P-1", "--system", "harbour") == 2
    assert 'There is no plan "P-1"' in weir.err
    assert weir("show", unknown) == 2
    make_system("second")
    assert weir("show", "P-1") == 2
    assert "P-1 counts within its system. Which system?" in weir.err
    weir.environment["WEIR_SYSTEM"] = "harbour"
    assert weir("show", "P-1") == 2
    assert 'There is no plan "P-1"' in weir.err


def test_who_may_not_hears_which_role_may(terminal: Callable[..., Terminal], folder: Path) -> None:
    reader = terminal(make_user("vera", Role.VIEWER))
    assert reader("list", "topics") == 0
    assert reader("export", "harbour", folder) == 0
    edited(folder, "broker", world_b1={"region": "eu"})
    assert reader("import", folder, "--yes") == 2
    assert "editor" in reader.err
    assert reader("optimize") == 2
    assert "editor" in reader.err


def test_login_checks_and_keeps_the_token(
    weir: Terminal, admin: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = weir.environment.pop("WEIR_TOKEN")
    weir.environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert weir("whoami") == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("weir_wrong\n"))
    assert weir("login", "http://testserver") == 2
    assert "unknown, expired or revoked" in weir.err
    assert weir("whoami") == 2
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{token}\n"))
    assert weir("login", "http://testserver/") == 0, weir.err
    assert "others may read what is sent" in weir.err
    assert token not in weir.out + weir.err
    assert weir("whoami") == 0
    assert weir.out.startswith("admin at http://testserver: ")
    assert weir("whoami", "--json") == 0
    assert weir.json["username"] == "admin"
    assert weir("logout") == 0
    assert weir("whoami") == 2


# --- plans


@pytest.fixture
def harbour(db: None) -> Harbour:
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    return harbour


@pytest.fixture
def agents(harbour: Harbour) -> Mapping[str, Agent]:
    return agents_come(harbour)


def grow(harbour: Harbour) -> None:
    """Somebody adds what no plan has brought into force yet."""
    gales = make_topic(harbour.system, "gales", source=harbour.brokers["b"], rate_max_per_s=5.0)
    make_class(harbour.system, gales, harbour.brokers["d"], "albatrosses")


def work(harbour: Harbour, agents: Mapping[str, Agent]) -> None:
    """What agents and the coordinator do while somebody waits."""
    agents_look(harbour, agents)
    executions_tick()
    plans_settle()


def test_a_plan_is_proposed_approved_and_carried_out(
    terminal: Callable[..., Terminal], harbour: Harbour, agents: Mapping[str, Agent]
) -> None:
    ines = terminal(make_user("ines", Role.EDITOR))
    jon = terminal(make_user("jon", Role.APPROVER))
    olga = terminal(make_user("olga", Role.OPERATOR))
    grow(harbour)
    assert ines("plan", "--ticket", "CHG-7", "--title", "Spring tide", "--submit") == 0, ines.err
    assert ines.out.startswith("P-1 of harbour: Spring tide\npending review; 0 of 1 approval\n")
    assert "change ticket: CHG-7" in ines.out
    content_hash = ines.out.split()[-1]
    assert ines("approve", "P-1", "--hash", content_hash) == 2
    assert jon("show", "p-1") == 0
    assert jon.out.split()[-1] == content_hash
    assert jon("approve", "P-1", "--hash", "0" * 64) == 2
    assert jon("execute", "P-1") == 2
    assert olga("execute", "P-1") == 2
    assert jon("approve", "P-1", "--hash", content_hash, "--comment", "Fine.") == 0, jon.err
    assert jon.out == "P-1 of harbour: approved\n"

    olga.meanwhile = lambda: work(harbour, agents)
    assert olga("execute", "P-1", "--watch") == 0, olga.err
    assert Plan.objects.get().state == "executed"
    lines = olga.out.splitlines()
    times = [line[:20] for line in lines]
    assert times == sorted(times)
    assert lines[0].split()[2:5] == ["P-1:", "ines", "made"]
    assert len({*lines}) == len(lines)
    assert any("gales" in line for line in lines)
    assert olga("watch", "P-1") == 0
    assert olga("list", "plans", "--json") == 0
    assert [(one["state"], one["change_ticket"]) for one in olga.json] == [("executed", "CHG-7")]
    assert ines("roll-back", "P-1", "--reason", "Too much.") == 0, ines.err
    assert ines.out.startswith("P-2 of harbour: ")
    assert ines("discard", "P-2") == 0
    assert ines("watch", "P-2") == 1


def test_people_approve_what_they_were_shown(
    terminal: Callable[..., Terminal], harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    ines = terminal(make_user("ines", Role.EDITOR))
    jon = terminal(make_user("jon", Role.APPROVER))
    grow(harbour)
    assert ines("plan") == 0, ines.err
    assert ines("submit", "P-1", "--reason", "For review.") == 0
    assert ines.out == "P-1 of harbour: pending review, 1 approval missing\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert jon("approve", "P-1") == 2
    assert "--hash" in jon.err
    monkeypatch.setattr("sys.stdin", Keyboard("n\n"))
    assert jon("approve", "P-1") == 1
    assert "content " in jon.out
    assert Plan.objects.get().state == "pending_review"
    with pytest.raises(SystemExit):
        jon("reject", "P-1")
    assert ines("withdraw", "P-1") == 0
    assert ines("submit", "P-1") == 0
    assert jon("reject", "P-1", "--reason", "Not today.") == 0
    assert jon.out == "P-1 of harbour: rejected\n"
    assert ines("watch", "P-1") == 1
    assert "Not today." in ines.out or "eject" in ines.out


def test_watching_ends_when_the_time_is_over(weir: Terminal, harbour: Harbour) -> None:
    grow(harbour)
    assert weir("plan") == 0, weir.err
    assert weir("watch", "P-1", "--timeout", "0.5") == 3
    assert "The time is over" in weir.err


def test_a_pipeline_waits_for_the_approval(
    terminal: Callable[..., Terminal], harbour: Harbour
) -> None:
    ines = terminal(make_user("ines", Role.EDITOR))
    jon = terminal(make_user("jon", Role.APPROVER))
    grow(harbour)
    assert ines("plan", "--submit") == 0, ines.err
    content_hash = ines.out.split()[-1]

    def approve() -> None:
        if Plan.objects.get().state == "pending_review":
            assert jon("approve", "P-1", "--hash", content_hash) == 0

    ines.meanwhile = approve
    assert ines("watch", "P-1", "--until", "approved") == 0
    assert Plan.objects.get().state == "approved"


def test_nothing_to_change_is_no_plan(weir: Terminal, harbour: Harbour) -> None:
    assert weir("plan") == 2
    assert Plan.objects.count() == 0


# --- answers


def test_an_answer_is_computed_shown_and_proposed(weir: Terminal, harbour: Harbour) -> None:
    def compute() -> None:
        for run in Run.objects.filter(state="queued"):
            held = claim(run)
            run_store(held, kernel_answer(held))

    weir.meanwhile = compute
    assert weir("optimize", "--method", "greedy") == 0, weir.err
    assert weir.out.startswith("A-1 (solved): utility ")
    assert "weir plan --from A-1" in weir.out
    run = Run.objects.get()
    assert weir("watch", f"R-{run.pk}") == 0
    assert weir.out.startswith("A-1 (solved): utility ")
    assert weir("plan", "--from", "A-1", "--ticket", "CHG-9") == 0, weir.err
    assert Plan.objects.get().change_ticket == "CHG-9"
    assert weir("plan", "--from", "A-2") == 2
    assert weir("plan", "--from", "Z-1") == 2
    assert weir("optimize", "--method", "no-such") == 2


def test_a_run_that_fails_or_that_nobody_waits_for(weir: Terminal, harbour: Harbour) -> None:
    from apps.runs.services import run_fail

    def fail() -> None:
        for run in Run.objects.filter(state="queued"):
            run_fail(run=claim(run), code="job_failed", reason="The job failed.")

    weir.meanwhile = fail
    assert weir("optimize") == 1
    assert "failed: The job failed." in weir.out

    def interrupt() -> None:
        raise KeyboardInterrupt

    weir.meanwhile = interrupt
    assert weir("optimize") == 130
    assert "is cancelled" in weir.err
    assert Run.objects.latest("id").state == "cancelled"
