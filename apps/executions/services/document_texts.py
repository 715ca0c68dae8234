"""Render the documents of a system as texts, again only where something changed.

A document is the flows, which nearly all brokers share, and a small rest of its own. Whoever looks
again compares the rests; equal ones keep their text. None of this belongs on an event loop.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apps.executions.services.documents import Facts, document_of, version_of
from weir.coordination import wire


class Texts:
    """Hold version and JSON of each broker's document, as of one look at the facts."""

    def __init__(self, facts: Facts, former: "Texts | None" = None) -> None:
        """Take `former`, an earlier look: unchanged texts are taken over from it, and changed ones
        are made now for those brokers that it was made for."""
        self.facts = facts
        self.rendered = 0
        """How many texts were made, not taken over."""
        self._flows: Mapping[str, dict[str, Any]] = {
            flow: wire.to_dict(wire.FlowSpec(delivery=delivery, keep_s=facts.keep_s))
            for flow, delivery in facts.deliveries.items()
        }
        self._texts: dict[str, tuple[wire.Document, str, bytes]] = {}
        if former is None:
            return
        same_flows = _of_all_flows(former.facts) == _of_all_flows(facts)
        for broker, (rest, version, text) in list(former._texts.items()):
            fresh = self._rest(broker)
            enters = facts.ingress.get(broker), former.facts.ingress.get(broker)
            if same_flows and enters[0] == enters[1] and fresh == rest:
                self._texts[broker] = rest, version, text
            else:
                self._render(broker, fresh)

    def known(self, broker: str) -> tuple[str, int, bytes] | None:
        """Return the version, number and text of the document, if it was made before."""
        if broker not in self._texts:
            return None
        _, version, text = self._texts[broker]
        # The number is of this look, whenever the rest was made.
        number = self.facts.number
        return version, number, b'{"number":%d,' % number + text[1:]

    def document(self, broker: str) -> tuple[str, int, bytes]:
        """Return the version, number and text of the document."""
        if broker not in self._texts:
            self._render(broker, self._rest(broker))
        found = self.known(broker)
        assert found is not None
        return found

    def _rest(self, broker: str) -> wire.Document:
        return replace(document_of(self.facts, broker, flows=False), number=0)

    def _render(self, broker: str, rest: wire.Document) -> None:
        flows = dict(self._flows)
        for flow in self.facts.ingress.get(broker, ()):
            most = self.facts.max_message_bytes
            flows[flow] = {**flows[flow], "ingress": True, "max_message_bytes": most}
        plain = {**wire.to_dict(rest), "flows": flows}
        version = version_of(plain)
        del plain["number"]
        text = json.dumps({**plain, "version": version}, separators=(",", ":"), ensure_ascii=False)
        self._texts[broker] = rest, version, text.encode()
        self.rendered += 1


def _of_all_flows(facts: Facts) -> object:
    """Return what stands in the flows of every broker's document."""
    return facts.deliveries, facts.keep_s, facts.max_message_bytes
