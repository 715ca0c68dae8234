"""Reliable load of our own on the demo fleet, every message of it accounted for.

Topics and classes that no allocation knows, so that nothing limits them; publishers and recorders
are those of the chaos runs and share no code with the agent.
"""

import asyncio
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from agent.tasks import end
from config.stack.parts import brokers
from tests.e2e.chaos.audit import Verdict, judge
from tests.e2e.chaos.traffic import Published, Recorded, publish_reliable, record_reliable
from tests.e2e.fleet import Fleet

ARRIVE_S = 60.0


class AuditedLoad:
    """Topics with their publishers and recorders, from entering to leaving."""

    flows: dict[str, str]
    """Word -> the name of its topic."""

    def __init__(
        self, fleet: Fleet, topics: Mapping[str, tuple[str, Sequence[str]]], *, rate_per_s: float
    ) -> None:
        """`topics`: word -> (broker of the publisher, brokers with a recorder). A topic without
        recorders is left to others to publish."""
        life = uuid.uuid4().hex[:6]
        self._fleet = fleet
        self._rate_per_s = rate_per_s
        self._enough = threading.Event()
        self._made: list[str] = []
        self._sources: dict[str, str] = {}
        self._published: dict[str, Published] = {}
        self._recorded: dict[tuple[str, str], Recorded] = {}
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self.flows = {word: f"audit-{life}-{word}" for word in topics}
        for word, (source, readers) in topics.items():
            flow = self.flows[word]
            self._sources[flow] = source
            if readers:
                self._published[flow] = Published(flow)
            for reader in readers:
                self._recorded[flow, reader] = Recorded(f"{flow}-{reader}", flow)

    def __enter__(self) -> "AuditedLoad":
        try:
            self._model()
            self._fleet.bring_model_into_force()
            self._thread.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._enough.set()
        self._thread.join(ARRIVE_S + 10.0)
        self._remove()
        if error is None:  # else something may be under way; what there is goes with the next plan
            self._fleet.bring_model_into_force()

    # --- the model

    def _model(self) -> None:
        broker = {row["name"]: row["id"] for row in self._fleet.rows("brokers")}
        utility = self._fleet.rows("utility-functions")[0]["id"]
        for flow, source in self._sources.items():
            topic = self._make(
                "topics",
                name=flow,
                delivery="reliable",
                source=broker[source],
                rate_min_per_s=1.0,
                rate_max_per_s=self._rate_per_s,
            )
            for (name, reader), recorded in self._recorded.items():
                if name == flow:
                    self._make(
                        "consumer-classes",
                        name=recorded.name,
                        topic=topic,
                        broker=broker[reader],
                        utility=utility,
                        population_max=1,
                    )

    def _make(self, kind: str, **values: Any) -> str:
        body = {"system": self._fleet.system, **values}
        answer = self._fleet.everybody.post(f"/api/v1/{kind}", body)
        assert answer.status_code == 201, answer.text
        self._made.append(f"/api/v1/{kind}/{answer.json()['id']}")
        return str(answer.json()["id"])

    def _remove(self) -> None:
        client = self._fleet.everybody.client
        while self._made:
            address = self._made.pop()
            tag = client.get(address).headers["ETag"]
            answer = client.delete(address, headers={"If-Match": tag})
            assert answer.status_code == 204, answer.text

    # --- the load

    async def _live(self) -> None:
        key = self._fleet.weir.site.secrets["clients"]
        url = {name: brokers.address_of(self._fleet.weir.site, name) for name in brokers.NAMES}
        listening = [
            asyncio.create_task(record_reliable(url[reader], key, recorded))
            for (_, reader), recorded in self._recorded.items()
        ]
        await asyncio.gather(
            *(
                publish_reliable(
                    url[self._sources[flow]],
                    key,
                    published,
                    rate_per_s=self._rate_per_s,
                    enough=self._enough.is_set,
                )
                for flow, published in self._published.items()
            )
        )
        until = time.monotonic() + ARRIVE_S
        while time.monotonic() < until and any(
            len(set(recorded.numbers)) < self._published[flow].acknowledged
            for (flow, _), recorded in self._recorded.items()
        ):
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)  # for what should not come
        await end(*listening)

    def wait_flowing(self, seconds: float = 60.0) -> None:
        """Until every recorder has got something."""
        deadline = time.monotonic() + seconds
        while not all(recorded.numbers for recorded in self._recorded.values()):
            assert time.monotonic() < deadline, {
                recorded.name: len(recorded.numbers) for recorded in self._recorded.values()
            }
            time.sleep(0.2)

    def delivered(self) -> int:
        """Messages so far, over all recorders."""
        return sum(len(recorded.numbers) for recorded in self._recorded.values())

    def verdict(self) -> Verdict:
        """End the load and judge it, from the first message on that each recorder got: what came
        in before brokers on the way had heard that anybody wants it went nowhere."""
        self._enough.set()
        self._thread.join(ARRIVE_S + 10.0)
        assert not self._thread.is_alive()
        total = Verdict()
        for (flow, _), recorded in self._recorded.items():
            before = recorded.numbers[0] - 1
            count = self._published[flow].acknowledged - before
            numbers = [number - before for number in recorded.numbers]
            total += judge(count, count + 1, numbers, len(recorded.texts))
        return total
