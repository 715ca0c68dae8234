"""Report the state of each part, for `make status`."""

from dataclasses import dataclass

from config.stack.parts.base import Part
from config.stack.site import Site


@dataclass(frozen=True, slots=True)
class Status:
    """Describe the current state of one part."""

    part: str
    state: str
    pid: int | None
    port: int | None
    since: str | None
    log: str
    detail: str | None = None


def status_of(site: Site, part: Part, word: str | None) -> Status:
    """Return the part's state; `word` is the supervisor's word for it, None when it knows none."""
    record = site.record(part.name)
    port = site.ports.get(next(iter(part.ports), ""))
    log = str(site.log_file(part.name))
    if part.replaced_by and part.name in site.external:
        reason = part.ready(site)
        state = "external" if reason is None else "unreachable"
        return Status(part.name, state, None, None, None, log, reason or part.replaced_by)
    if word in (None, "STOPPED", "FATAL"):
        return Status(part.name, "stopped", None, None, None, log)
    identity = site.process(part.name)
    if identity is None:
        waits = record.get("waiting_for")
        detail = f"for {waits}" if waits else record.get("problem")
        return Status(part.name, record.get("phase", "starting"), None, port, None, log, detail)
    reason = part.ready(site)
    state = "ready" if reason is None else "starting"
    return Status(part.name, state, identity.pid, port, record.get("started_at"), log, reason)
