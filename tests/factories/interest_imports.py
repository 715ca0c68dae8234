"""A system with subscribers and topics, and imports of interests into it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from apps.catalog.models import Interest, InterestImport, Subscriber, Topic
from apps.catalog.services.import_execute import Pulse, import_execute
from apps.systems.models import System
from tests.factories import make_system

Pairs = set[tuple[str, str]]


def make_catalog(
    wants: Mapping[str, Iterable[str]], topics: Iterable[str], name: str = "harbour"
) -> System:
    """A system with these topics, and these subscribers with their interests."""
    system = make_system(name)
    made = {topic: Topic(system=system, name=topic, rate_max_per_s=1.0) for topic in sorted(topics)}
    Topic.objects.bulk_create(made.values())
    subscribers = [Subscriber(system=system, name=name) for name in wants]
    Subscriber.objects.bulk_create(subscribers)
    Interest.objects.bulk_create(
        Interest(subscriber=subscriber, topic=made[topic])
        for subscriber in subscribers
        for topic in wants[subscriber.name]
    )
    return system


def pairs_of(system: System) -> Pairs:
    """Every interest of the system, by names."""
    rows = Interest.objects.filter(subscriber__system=system)
    return set(rows.values_list("subscriber__name", "topic__name"))


def table(pairs: Iterable[tuple[str, str]]) -> bytes:
    lines = [f"{subscriber},{topic}\n" for subscriber, topic in pairs]
    return ("subscriber,topic\n" + "".join(lines)).encode()


def address(system: System, mode: str, **more: Any) -> str:
    query = urlencode({"system": system.public_id, "mode": mode, **more})
    return f"/api/v1/interest-imports?{query}"


def start(
    api: Any, system: System, mode: str, body: bytes, media_type: str = "text/csv", **more: Any
) -> UUID:
    """Send a file; it stays queued."""
    answer = api.generic("POST", address(system, mode, **more), body, content_type=media_type)
    assert answer.status_code == 202, answer.content
    return UUID(answer.json()["id"])


def standing_still(phase: str, wait: Callable[[], object]) -> Callable[[Pulse, int], None]:
    """Return an `advance` for `Pulse` that waits once within the phase; heartbeats go on."""
    advance, waited = Pulse.advance, False

    def advance_and_wait(pulse: Pulse, count: int) -> None:
        nonlocal waited
        advance(pulse, count)
        if not waited and pulse.phase == phase and 0 < pulse.done < pulse.total:
            waited = True
            wait()
            pulse.check()

    return advance_and_wait


def carry_out(
    api: Any, system: System, mode: str, body: bytes, media_type: str = "text/csv", **more: Any
) -> Any:
    """Send a file, do what a worker does, and return the import as the API shows it."""
    public_id = start(api, system, mode, body, media_type, **more)
    import_execute(public_id=public_id)
    return api.get(f"/api/v1/interest-imports/{public_id}").json()


def row_of(public_id: UUID) -> InterestImport:
    return InterestImport.objects.get(public_id=public_id)
