"""Readers of kept streams open no other stream, and nothing of another reader."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import nats
import nats.errors
import pytest

from agent.drivers.nats.server_config import BrokerSecrets
from tests.agent.brokers import Broker
from tests.agent.kept_site import FLOWS, STREAMS, Site
from tests.agent.planes import until
from tests.agent.publishing import log_in
from weir_client import subjects
from weir_client.subscriber_login import SUBSCRIBER_USER

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]


async def test_a_reader_opens_no_stream_but_kept_ones(tmp_path: Path) -> None:
    broker = Broker("a", tmp_path / "a", BrokerSecrets.generate())
    broker.start()
    site = await Site(broker).open()
    try:
        await site.map({FLOWS[0]: STREAMS[0]})
        await site.settle()
        client = await log_in(broker, "p")
        await client.jetstream().publish(f"weir.in.{subjects.token(FLOWS[0])}", b"0")
        await client.close()
        await until(lambda: not site.plane.router.problems, "it passes")
        await _try_everything(broker)
    finally:
        await site.close()
        broker.kill()


async def _try_everything(broker: Broker) -> None:
    spy = await nats.connect(
        broker.url,
        user=SUBSCRIBER_USER,
        password=broker.secrets.client_key,
        inbox_prefix=subjects.INBOX,
        name="spy",
        error_cb=_ignore,
    )
    name = subjects.consumer_of("spy", "a")
    stranger = subjects.consumer_of("other", "a")
    foreign = f"WEIR_MSG_{subjects.token(FLOWS[0])}"
    kept, wide = "WEIR_ON_0_0", f"{subjects.KEPT}.>"

    async def ask(subject: str, body: Any = None) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        try:
            return json.loads((await spy.request(f"$JS.API.{subject}", data, timeout=0.3)).data)
        except (nats.errors.Error, ValueError):
            return None

    def config(stream: str, consumer: str, **options: Any) -> dict[str, Any]:
        settings = {"durable_name": consumer, "name": consumer, "ack_policy": "all", **options}
        return {"stream_name": stream, "config": settings}

    answer = await ask(
        f"CONSUMER.CREATE.{kept}.{name}.{wide}", config(kept, name, filter_subject=wide)
    )
    assert answer["name"] == name
    for stream in (foreign, "WEIR_INTEREST", "WEIR_COURSES", f"WEIR_IN_{subjects.token(FLOWS[0])}"):
        for subject, body in [
            (f"CONSUMER.CREATE.{stream}", config(stream, name)),
            (f"CONSUMER.CREATE.{stream}.{name}", config(stream, name)),
            (f"CONSUMER.DURABLE.CREATE.{stream}.{name}", config(stream, name)),
            (f"CONSUMER.CREATE.{stream}.{name}.weir.msg.>", config(stream, name)),
            (
                f"CONSUMER.CREATE.{stream}.{name}.{wide}",
                config(stream, name, filter_subject="weir.>"),
            ),
            (f"CONSUMER.CREATE.{stream}.{name}.{wide}", config(stream, name)),
            (
                f"CONSUMER.CREATE.{stream}.{name}.{wide}",
                config(stream, name, filter_subjects=["weir.>"]),
            ),
            (f"STREAM.INFO.{stream}", {}),
            (f"STREAM.MSG.GET.{stream}", {"seq": 1}),
            (f"DIRECT.GET.{stream}", {"seq": 1}),
            (f"DIRECT.GET.{stream}.weir.>", None),
        ]:
            answer = await ask(subject, body)
            assert answer is None or "error" in answer, (subject, answer)
        inbox = spy.new_inbox()
        heard = await spy.subscribe(inbox)
        await spy.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}", b"10", reply=inbox)
        with contextlib.suppress(nats.errors.TimeoutError):
            while True:
                assert not (await heard.next_msg(0.3)).data
    for subject in (
        f"CONSUMER.CREATE.{kept}.{stranger}.{wide}",
        f"CONSUMER.DELETE.{kept}.{stranger}",
        f"STREAM.DELETE.{kept}",
        f"STREAM.PURGE.{kept}",
        f"STREAM.INFO.{kept}",
        f"DIRECT.GET.{kept}",
        f"DIRECT.GET.WEIR_READERS.{subjects.reader_subject('other')}",
    ):
        assert await ask(subject, config(kept, stranger, filter_subject=wide)) is None
    await spy.close()


async def _ignore(_: Exception) -> None:
    """The broker says what it refuses."""
