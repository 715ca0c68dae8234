"""Run our own processes: web server, task workers, scheduler, and the coordinator of executions."""

import signal
import sys
import urllib.error
import urllib.request

from config.stack.parts.base import CHECK_TIMEOUT_S, Command, Layer, Part, settled
from config.stack.site import ROOT, Site


def _web_command(site: Site) -> Command:
    return Command(
        [
            *(sys.executable, "-m", "granian", "--interface", "asgi"),
            *("--host", "127.0.0.1", "--port", str(site.ports["web"])),
            # A browser keeps its event stream open: do not wait for it at the end.
            *("--workers", "1", "--workers-kill-timeout", "3s"),
            "config.asgi:application",
        ]
    )


def _web_address(site: Site) -> dict[str, str]:
    return {"WEIR_WEB_URL": f"http://127.0.0.1:{site.ports['web']}"}


def _web_ready(site: Site) -> str | None:
    url = f"http://127.0.0.1:{site.ports['web']}/readyz"
    try:
        with urllib.request.urlopen(url, timeout=CHECK_TIMEOUT_S) as answer:
            return None if answer.status == 200 else f"/readyz answers {answer.status}"
    except urllib.error.HTTPError as error:
        detail = error.read(500).decode(errors="replace").strip()
        return f"/readyz answers {error.code}: {detail}"
    except OSError as error:
        return str(error)


def _celery_worker(site: Site, part: str, *options: str) -> Command:
    return Command(
        [
            *(sys.executable, "-m", "celery", "-A", "config.celery", "worker"),
            *("--loglevel", "INFO", "--hostname", f"{part}@{site.id}", *options),
            # Workers need nothing of each other; looking for neighbours costs every start a second.
            *("--without-gossip", "--without-mingle"),
        ]
    )


def _worker_command(site: Site) -> Command:
    return _celery_worker(site, "worker", "--queues", "runs", "--concurrency", "2")


def _control_command(site: Site) -> Command:
    return _celery_worker(site, "control", "--queues", "control", "--pool", "solo")


def _imports_command(site: Site) -> Command:
    # Threads: an import waits for the database most of its time, what integrations send for other
    # servers, and a ping is answered meanwhile.
    queues = "imports,integrations"
    return _celery_worker(
        site, "imports", "--queues", queues, "--pool", "threads", "--concurrency", "7"
    )


def _worker_ready(site: Site) -> str | None:
    return _answers_ping(site, "worker")


def _control_ready(site: Site) -> str | None:
    return _answers_ping(site, "control")


def _imports_ready(site: Site) -> str | None:
    return _answers_ping(site, "imports")


def _answers_ping(site: Site, part: str) -> str | None:
    if site.process(part) is None:
        return "not running"
    from celery import Celery
    from kombu.exceptions import OperationalError
    from redis import RedisError

    # A bare app on the same broker: asking needs neither our settings nor Django.
    client = Celery("weir-stack", broker=site.environment["WEIR_BROKER_URL"], set_as_current=False)
    try:
        answers = client.control.ping(destination=[f"{part}@{site.id}"], timeout=1.0, limit=1)
    except (OSError, OperationalError, RedisError) as error:
        return f"broker: {error}"
    finally:
        client.close()
    return None if answers else "does not answer a ping yet"


def _beat_command(site: Site) -> Command:
    return Command(
        [
            *(sys.executable, "-m", "celery", "-A", "config.celery", "beat"),
            *("-S", "django_celery_beat.schedulers:DatabaseScheduler"),
            *("--loglevel", "INFO", "--pidfile", ""),
        ]
    )


def _coordinator_command(site: Site) -> Command:
    return Command([sys.executable, str(ROOT / "manage.py"), "coordinate"])


def _beat_ready(site: Site) -> str | None:
    return settled(site, "beat")


def _coordinator_ready(site: Site) -> str | None:
    return settled(site, "coordinator")


_ADVICE = "Read its log: the last lines name the cause."

WEB = Part(
    name="web",
    layer=Layer.OWN,
    needs=("postgres", "valkey"),
    ports={"web": 8000},
    address=_web_address,
    command=_web_command,
    ready=_web_ready,
    stop=((signal.SIGTERM, 6.0),),
    start_timeout_s=90.0,
    advice=_ADVICE,
)
WORKER = Part(
    name="worker",
    layer=Layer.OWN,
    needs=("postgres", "valkey", "spark"),
    command=_worker_command,
    ready=_worker_ready,
    # First let a short task end; then Celery's quick end, which gives the task back.
    stop=((signal.SIGTERM, 4.0), (signal.SIGQUIT, 4.0)),
    start_timeout_s=90.0,
    advice=_ADVICE,
)
# A worker of its own: however many runs wait for a slot, the reaper finds the lost ones.
CONTROL = Part(
    name="control",
    layer=Layer.OWN,
    needs=("postgres", "valkey"),
    command=_control_command,
    ready=_control_ready,
    stop=((signal.SIGTERM, 4.0), (signal.SIGQUIT, 4.0)),
    start_timeout_s=90.0,
    advice=_ADVICE,
)
# A third one: an import lasts a minute, and another server's answer may, and neither runs nor their
# upkeep may wait for them.
IMPORTS = Part(
    name="imports",
    layer=Layer.OWN,
    needs=("postgres", "valkey"),
    command=_imports_command,
    ready=_imports_ready,
    stop=((signal.SIGTERM, 4.0), (signal.SIGQUIT, 4.0)),
    start_timeout_s=90.0,
    advice=_ADVICE,
)
BEAT = Part(
    name="beat",
    layer=Layer.OWN,
    needs=("postgres", "valkey"),
    command=_beat_command,
    ready=_beat_ready,
    stop=((signal.SIGTERM, 5.0),),
    start_timeout_s=60.0,
    advice=_ADVICE,
)
# Carries executions out; several may run, since they lock the rows that they work on.
COORDINATOR = Part(
    name="coordinator",
    layer=Layer.OWN,
    needs=("postgres", "valkey"),
    command=_coordinator_command,
    ready=_coordinator_ready,
    stop=((signal.SIGTERM, 5.0),),
    start_timeout_s=60.0,
    advice=_ADVICE,
)
