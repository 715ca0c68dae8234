"""Rates out of counters: what the agent measures about its broker once a second."""

from __future__ import annotations

import resource
import time
from typing import Any

from agent.counters import Counters
from agent.drivers.base import Stats

UNHEARD = "unheard"
NOT_READ = "not_read"
"""Passed on before every neighbour had said what it wants: the rest may have wanted it, too."""


class Meter:
    """Remembers the counters of the last look; a counter that fell began anew at zero."""

    def __init__(self, now: float, *, began_at: float = 0.0) -> None:
        """`now`: seconds of a clock that is never set back. `began_at`: since when the counters
        count, Unix seconds: it tells them from those of another process."""
        self._at = now
        self._began_at = began_at
        self._last: dict[tuple[str, str], int] = {}
        self._backlog: dict[str, int] = {}
        self._samples: dict[tuple[str, str], tuple[float, int]] = {}

    def _mean(self, kind: str, name: str, total: tuple[float, int] | None) -> float | None:
        """Mean of what was sampled since the last look; None when nothing was."""
        before = self._samples.get((kind, name), (0.0, 0))
        now = total or (0.0, 0)
        self._samples[kind, name] = now
        if now[1] < before[1]:
            before = (0.0, 0)
        number = now[1] - before[1]
        return max(0.0, now[0] - before[0]) / number if number else None

    def measure(
        self, now: float, counters: Counters, stats: Stats, *, waiting_bytes: int = 0
    ) -> dict[str, Any]:
        """The telemetry of the interval since the last call, in the form of the protocol.
        `waiting_bytes`: of messages that wait in this process."""
        interval_s = max(1e-3, now - self._at)
        self._at = now
        seen: dict[tuple[str, str], int] = {}

        def grown(kind: str, name: str, value: int) -> int:
            seen[kind, name] = value
            before = self._last.get((kind, name), 0)
            return value - before if value >= before else value

        def rate(kind: str, name: str, value: int) -> float:
            return grown(kind, name, value) / interval_s

        flows: dict[str, dict[str, float]] = {}
        backlog: dict[str, int] = {}
        for flow in sorted({*counters.passed, *counters.waiting, *stats.ingress_shed}):
            passed = grown("passed", flow, counters.passed.get(flow, 0))
            shed = grown("shed", flow, stats.ingress_shed.get(flow, 0))
            # What a pump holds of a reliable flow is still in the broker's stream, too.
            waiting = counters.waiting.get(flow, 0)
            backlog[flow] = max(stats.ingress_backlog.get(flow, 0), waiting)
            # What came in went through, was thrown away, or waits.
            offered = passed + shed + backlog[flow] - self._backlog.get(flow, 0)
            flows[flow] = {
                "offered_per_s": max(0, offered) / interval_s,
                "passed_per_s": passed / interval_s,
                "shed_per_s": shed / interval_s,
                "backlog": backlog[flow],
            }
            means = {
                "message_bytes": self._mean("size", flow, counters.sized.get(flow)),
                "ack_s": self._mean("ack", flow, counters.acked.get(flow)),
            }
            flows[flow] |= {name: mean for name, mean in means.items() if mean is not None}
        classes = {
            name: {
                "admitted": state.admitted,
                "waiting": state.waiting,
                "delivered_per_s": rate("delivered", name, stats.delivered.get(name, 0)),
            }
            for name, state in stats.classes.items()
        }
        links = {
            neighbour: {
                "sent_per_s": rate("sent", neighbour, counters.sent.get(neighbour, 0)),
                "received_per_s": rate("received", neighbour, counters.received.get(neighbour, 0)),
                "backlog": stats.outbox_backlog.get(neighbour, 0),
            }
            for neighbour in sorted({*counters.sent, *counters.received, *stats.outbox_backlog})
        }
        broker: dict[str, Any] = {
            "connections": stats.connections,
            "in_msgs_per_s": rate("in", "", stats.in_messages),
            "out_msgs_per_s": rate("out", "", stats.out_messages),
            "unmanaged": list(stats.unmanaged),
            "sync_always": stats.sync_always,
        }
        if stats.cpu_ratio is not None:
            broker["cpu_ratio"] = stats.cpu_ratio
        if stats.cores is not None:
            broker["cores"] = stats.cores
        if stats.memory_bytes is not None:
            broker["memory_bytes"] = stats.memory_bytes
        self._last, self._backlog = seen, backlog
        return {
            "interval_s": interval_s,
            "flows": flows,
            "classes": classes,
            "links": links,
            "lost": _lost(counters, stats),
            "broker": broker,
            "agent": {
                "began_at": self._began_at,
                "cpu_s": time.process_time(),
                "forwarded": counters.forwarded,
                "waiting_bytes": waiting_bytes,
                "memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            },
        }


def _lost(counters: Counters, stats: Stats) -> dict[str, dict[str, int]]:
    """Flow -> reason -> messages that were accepted and did not get further."""
    lost = {flow: dict(reasons) for flow, reasons in stats.lost.items()}
    for reason, counts in ((UNHEARD, counters.lost), (NOT_READ, counters.left)):
        for flow, count in counts.items():
            reasons = lost.setdefault(flow, {})
            reasons[reason] = reasons.get(reason, 0) + count
    return lost
