"""Writers and readers of streams on a real server: each message once, in order, whatever dies."""

import asyncio

import pytest

from agent.drivers.base import DriverError, Retryable, Room
from agent.drivers.nats import jetstream, stream_reader, stream_writer, wire
from agent.drivers.nats import session as sessions
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.session import Session
from agent.drivers.nats.stream_reader import Settler, StreamReader
from agent.drivers.nats.stream_writer import BATCH, POSITION, Outgoing, StreamWriter, position_of
from agent.memory import Memory
from tests.agent.planes import until
from tests.freezing import freeze, thaw
from tests.nats_server import NatsServer

CONFIG = {"name": "S", "subjects": ["s.>"], "allow_atomic": True}


async def _session(server: NatsServer) -> Session:
    session = Session(server.url, name="test", is_ordered=True).start()
    await jetstream.ensure_stream(await session.connection(5), CONFIG)
    return session


def _message(position: int, subject: bytes = b"s.a") -> Outgoing:
    return Outgoing(subject, position, b"%b: %d\r\n" % (POSITION, position), b"%d" % position)


async def _content(session: Session) -> list[tuple[bytes, int]]:
    connection = await session.connection(5)
    state = await jetstream.stream_state(connection, "S")
    assert state is not None
    out: list[tuple[bytes, int]] = []
    if not state.messages:
        return out
    async for piece in StreamReader(session, "S").read():
        out += [(m.subject, position_of(m.header)) for m in piece.messages]
        if piece.behind == 0:
            return out
    raise AssertionError("unreachable")


@pytest.mark.asyncio
async def test_appends_in_order_of_calls_and_reads_back(server):
    async with asyncio.timeout(60):
        session = await _session(server)
        writer = StreamWriter(session, "S")
        jobs = [[_message(i) for i in range(n, n + 70)] for n in range(1, 2100, 70)]
        await asyncio.gather(*(writer.append(job) for job in jobs))
        assert await _content(session) == [(b"s.a", i) for i in range(1, 2101)]
        counted = (writer.appended, writer.duplicates, writer.breaks, writer.aside)
        assert counted == (2100, 0, 0, 0)
        await writer.close()
        await session.close()


@pytest.mark.asyncio
async def test_leaves_out_what_the_stream_has_already(server):
    async with asyncio.timeout(60):
        session = await _session(server)
        first = StreamWriter(session, "S")
        await first.append([_message(i) for i in range(1, 11)])
        await first.close()
        second = StreamWriter(session, "S")
        await second.append([_message(i) for i in range(5, 16)])
        await second.append([_message(3, b"s.b"), _message(4, b"s.b")])
        await second.append([_message(i) for i in range(1, 4)])
        assert await _content(session) == [
            *((b"s.a", i) for i in range(1, 16)),
            (b"s.b", 3),
            (b"s.b", 4),
        ]
        assert second.duplicates == 9
        await second.close()
        await session.close()


@pytest.mark.asyncio
async def test_a_job_larger_than_a_batch_ends_when_all_of_it_is_held(server):
    async with asyncio.timeout(60):
        session = await _session(server)
        writer = StreamWriter(session, "S")
        count = 3 * BATCH + 7
        await writer.append([_message(i) for i in range(1, count + 1)])
        state = await jetstream.stream_state(await session.connection(), "S")
        assert state is not None
        assert state.messages == count
        await writer.close()
        await session.close()


class Overtaking(jetstream.Owned):
    """A server whose first answer about a stream overtakes a message that is on its way there."""

    def __init__(self, *messages: Outgoing) -> None:
        super().__init__()
        self._messages = list(messages)

    async def find(self, connection: Connection, name: str) -> jetstream.StreamState:
        state = await super().find(connection, name)
        while self._messages:
            subject, _, lines, payload, _ = self._messages.pop(0)
            header = wire.HEADER_START + wire.CRLF + lines + wire.CRLF
            connection.write(wire.publication(subject, payload, header=header))
        return state


@pytest.mark.asyncio
@pytest.mark.parametrize("late", [1, 2, 3])
async def test_what_is_on_its_way_from_a_writer_before_costs_no_message(server, monkeypatch, late):
    """Were the first batch refused because of it, the second would come where the first belongs."""
    monkeypatch.setattr(stream_writer, "BATCH", 1)
    async with asyncio.timeout(60):
        session = await _session(server)
        before = [_message(i, b"s.b") for i in range(1, late + 1)]
        writer = StreamWriter(session, "S", owned=Overtaking(*before))
        await asyncio.gather(*(writer.append([_message(i)]) for i in range(1, 8)))
        assert await _content(session) == [
            *((b"s.b", i) for i in range(1, late + 1)),
            *((b"s.a", i) for i in range(1, 8)),
        ]
        await writer.close()
        await session.close()


@pytest.mark.asyncio
async def test_what_is_appended_again_is_held_no_earlier_than_the_first_time(server):
    async with asyncio.timeout(60):
        session = await _session(server)
        writer = StreamWriter(session, "S")
        await writer.append([_message(1)])
        held: list[int] = []
        jobs = []
        for number in range(2):
            jobs.append(writer.add([_message(i) for i in range(2, 50)]))
            jobs[-1].add_done_callback(lambda _, number=number: held.append(number))
            while writer._waiting:
                await asyncio.sleep(0)
        assert held == []
        await asyncio.gather(*jobs)
        assert held == [0, 1]
        await writer.close()
        await session.close()


@pytest.mark.asyncio
async def test_a_session_has_no_connection_before_the_last_one_is_gone_at_the_server(
    server, monkeypatch
):
    async with asyncio.timeout(60):
        session = Session(server.url, name="test", is_ordered=True).start()
        other = await Connection.open(server.url, name="other")
        connection = await session.connection(5)

        async def lose(listening: str) -> int:
            sid = other.subscribe(listening, lambda _: None)
            await other.flush()
            connection.close()
            return sid

        # Somebody listens where it did, as it does as long as the server reads it.
        sid = await lose(f"{connection._inbox.decode()}.*")
        with pytest.raises(Retryable):
            await session.connection(0.5)
        other.unsubscribe(sid)
        connection = await session.connection(5)
        # One that never goes is not waited for for ever.
        monkeypatch.setattr(sessions, "GONE_S", 0.3)
        await lose(f"{connection._inbox.decode()}.*")
        connection = await session.connection(5)
        # Where somebody listens to everything it cannot be known.
        monkeypatch.setattr(sessions, "GONE_S", 30)
        await lose(">")
        connection = await session.connection(5)
        other.close()
        await session.close()


@pytest.mark.asyncio
async def test_a_slow_server_does_not_look_as_if_somebody_listened(server):
    async with asyncio.timeout(60):
        one, other = [await Connection.open(server.url, name=name) for name in ("one", "other")]
        other.subscribe("somebody", lambda _: None)
        await other.flush()
        freeze(server.pid)
        asking = [asyncio.create_task(one._is_heard(name)) for name in ("nobody", "somebody")]
        assert not (await asyncio.wait(asking, timeout=0.3))[0]
        thaw(server.pid)
        assert await asyncio.gather(*asking) == [False, True]
        one.close()
        other.close()


@pytest.mark.asyncio
async def test_what_a_lost_connection_has_not_sent_is_never_sent(server):
    async with asyncio.timeout(60):
        session = Session(server.url, name="test", is_ordered=True).start()
        connection = await session.connection(5)
        listener = await Connection.open(server.url, name="listener")
        heard: list[int] = []
        listener.subscribe("s.a", lambda frames: heard.append(len(frames)))
        await listener.flush()
        freeze(server.pid)
        for _ in range(24):
            connection.write(wire.publication(b"s.a", bytes(1_000_000)))
        connection.close("the server has fallen silent")
        await asyncio.sleep(0.1)
        thaw(server.pid)
        await session.connection(5)
        await listener.flush()
        # The server may have got what fits into its own buffer.
        assert sum(heard) < 12
        listener.close()
        await session.close()


@pytest.mark.asyncio
async def test_two_writers_of_one_stream_never_append_a_message_twice(server):
    """An older incarnation that does not know it is dead."""
    async with asyncio.timeout(60):
        one, two = await _session(server), await _session(server)
        old, new = StreamWriter(one, "S"), StreamWriter(two, "S")
        jobs = [[_message(i) for i in range(n, n + 10)] for n in range(1, 301, 10)]
        await asyncio.gather(*(w.append(job) for job in jobs for w in (old, new)))
        assert await _content(one) == [(b"s.a", i) for i in range(1, 301)]
        for writer in (old, new):
            await writer.close()
        for session in (one, two):
            await session.close()


@pytest.mark.asyncio
async def test_a_killed_server_neither_loses_nor_doubles(server):
    """Killed while batches are on their way, three times; the writer carries on by itself."""
    async with asyncio.timeout(60):
        session = await _session(server)
        writer = StreamWriter(session, "S")

        async def append() -> None:
            for n in range(1, 6001, 50):
                await writer.append([_message(i) for i in range(n, n + 50)])

        appending = asyncio.create_task(append())
        for _ in range(3):
            await asyncio.sleep(0.05)
            server.kill()
            server.start()
        await appending
        assert await _content(session) == [(b"s.a", i) for i in range(1, 6001)]
        await writer.close()
        await session.close()


@pytest.mark.asyncio
async def test_sequences_go_on_after_everything_was_purged_and_the_server_killed(server):
    """Positions are the ingress stream's sequences: were they to begin anew, what comes next
    would be taken for old and left out."""
    async with asyncio.timeout(60):
        session = await _session(server)
        writer = StreamWriter(session, "S")
        await writer.append([_message(i) for i in range(1, 101)])
        for _ in range(2):
            await jetstream.purge_before(await session.connection(), "S", 101)
            server.kill()
            server.start()
            state = None
            while state is None:
                await asyncio.sleep(0.02)
                try:
                    state = await jetstream.stream_state(await session.connection(), "S")
                except DriverError:
                    continue
            assert (state.last, state.messages) == (100, 0)
        await writer.close()
        await session.close()


@pytest.mark.asyncio
async def test_a_reader_whose_pulls_are_answered_in_full_never_begins_anew(server):
    """The server says so of each, as their bytes are bounded, too, and were not used up."""
    async with asyncio.timeout(60):
        session = await _session(server)
        writer = StreamWriter(session, "S")
        await writer.append([_message(i) for i in range(1, 1001)])
        reader, got = StreamReader(session, "S", window=40), 0
        async for piece in reader.read():
            got += len(piece.messages)
            if got == 1000:
                break
        assert reader.restarts == 0
        await writer.close()
        await session.close()


@pytest.mark.asyncio
async def test_what_the_server_says_of_an_idle_stream_is_not_counted_for_ever(server):
    """A heartbeat a second would fill the memory that all readers share, and stop them all."""
    async with asyncio.timeout(60):
        session, memory = await _session(server), Memory()
        reading = asyncio.create_task(anext(StreamReader(session, "S", memory=memory).read()))
        await until(lambda: memory.reliable.most > 0, "a heartbeat has come")
        await until(lambda: memory.used == 0, "and nothing waits here")
        writer = StreamWriter(session, "S")
        await writer.append([_message(1)])
        assert len((await reading).messages) == 1
        await writer.close()
        await session.close()


@pytest.mark.asyncio
async def test_a_killed_server_leaves_no_gap_and_what_nobody_settled_comes_again(server):
    """The next process may have an older disk, so nothing is taken for read there."""
    async with asyncio.timeout(60):
        session = await _session(server)
        writer = StreamWriter(session, "S")
        got: list[int] = []

        async def read() -> None:
            async for piece in StreamReader(session, "S", window=40).read():
                got.extend(position_of(m.header) for m in piece.messages)
                if got[-1] == 3000:
                    return

        reading = asyncio.create_task(read())
        for n in range(1, 3001, 100):
            await writer.append([_message(i) for i in range(n, n + 100)])
            if n in (801, 1601):
                while not got or got[-1] < n:
                    await asyncio.sleep(0.01)
                server.kill()
                server.start()
        await reading
        lives = [start for start, number in enumerate(got) if number == 1]
        assert len(lives) == 3
        for start, stop in zip(lives, [*lives[1:], len(got)], strict=True):
            assert got[start:stop] == list(range(1, stop - start + 1))
        await writer.close()
        await session.close()


@pytest.mark.asyncio
async def test_a_full_stream_holds_the_writer_back_until_there_is_room(server):
    async with asyncio.timeout(60):
        session = await _session(server)
        connection = await session.connection()
        await jetstream.delete_stream(connection, "S")
        await jetstream.ensure_stream(connection, {**CONFIG, "max_msgs": 50, "discard": "new"})
        writer = StreamWriter(session, "S")
        await writer.append([_message(i) for i in range(1, 51)])
        more = asyncio.create_task(writer.append([_message(i) for i in range(51, 61)]))
        done, _ = await asyncio.wait((more,), timeout=0.5)
        assert not done
        assert "maximum messages" in writer.problem
        await jetstream.purge_before(connection, "S", 41)
        await more
        assert [p for _, p in await _content(session)] == list(range(41, 61))
        await writer.close()
        await session.close()


@pytest.mark.asyncio
async def test_large_messages_are_cut_into_batches_the_server_takes(server):
    async with asyncio.timeout(60):
        session = await _session(server)
        writer = StreamWriter(session, "S")
        payload = b"x" * 900_000
        await writer.append([_message(i)._replace(payload=payload) for i in range(1, 13)])
        assert await _content(session) == [(b"s.a", i) for i in range(1, 13)]
        assert writer.breaks == 0
        await writer.close()
        await session.close()


async def _first(session: Session) -> int:
    """The first sequence that the stream holds."""
    state = await jetstream.stream_state(await session.connection(5), "S")
    assert state is not None
    return state.first


class Settling:
    """A settler of the stream S that counts how often it asked whether it may purge."""

    def __init__(self, session: Session) -> None:
        self.asked = 0
        self.meanwhile: tuple[int, str] | None = None
        """What is settled while the next answer is awaited."""
        self.settler = Settler(session, "S", self._allowed)

    async def _allowed(self) -> None:
        self.asked += 1
        news, self.meanwhile = self.meanwhile, None
        if news is not None:
            self.settler.settle(*news)


@pytest.mark.asyncio
async def test_what_is_settled_goes_once_and_nothing_else(server, monkeypatch):
    monkeypatch.setattr(stream_reader, "_EVERY_S", 0.001)
    async with asyncio.timeout(60):
        session = await _session(server)
        writer = StreamWriter(session, "S")
        await writer.append([_message(i) for i in range(1, 11)])
        here = str((await session.connection(5)).info["server_id"])
        settling = Settling(session)
        # The first alone goes, too; another process may number other messages like that.
        for sequence, process, first in ((1, here, 2), (4, here, 5), (9, "another", 5)):
            questions = settling.asked
            settling.settler.settle(sequence, process)
            await until(lambda n=questions: settling.asked > n, "asked whether it may")
            while settling.settler._done != sequence:
                await asyncio.sleep(0)
            assert await _first(session) == first
        # What is done is not done again.
        questions = settling.asked
        settling.settler.settle(9, "another")
        await until(lambda: not settling.settler._work.is_set(), "looked")
        assert settling.asked == questions
        await settling.settler.close()
        await writer.close()
        await session.close()


@pytest.mark.asyncio
async def test_a_stream_made_anew_is_purged_from_its_beginning(server, monkeypatch):
    monkeypatch.setattr(stream_reader, "_EVERY_S", 0.001)
    async with asyncio.timeout(60):
        session = await _session(server)
        connection = await session.connection(5)
        here = str(connection.info["server_id"])
        writer, settling = StreamWriter(session, "S"), Settling(session)
        await writer.append([_message(i) for i in range(1, 11)])
        settling.settler.settle(8, here)
        while await _first(session) != 9:
            await asyncio.sleep(0)
        await writer.close()
        await jetstream.call(connection, "STREAM.DELETE.S")
        # Nothing is there to be purged: that is settled, and not tried for ever.
        settling.settler.settle(9, here)
        while settling.settler._done != 9:
            await asyncio.sleep(0)
        await jetstream.ensure_stream(connection, CONFIG)
        again = StreamWriter(session, "S")
        await again.append([_message(i) for i in range(1, 4)])
        settling.settler.settle(2, here)
        while await _first(session) != 3:
            await asyncio.sleep(0)
        await settling.settler.close()
        await again.close()
        await session.close()


@pytest.mark.asyncio
async def test_what_was_settled_before_a_stream_began_anew_does_not_count_for_it(
    server, monkeypatch
):
    monkeypatch.setattr(stream_reader, "_EVERY_S", 0.001)
    async with asyncio.timeout(60):
        session = await _session(server)
        here = str((await session.connection(5)).info["server_id"])
        settling = Settling(session)
        settling.meanwhile = (2, here)
        settling.settler.settle(8, here)
        await until(lambda: settling.asked == 2, "asks for the new stream, too")
        await until(lambda: settling.settler._done == 2, "and has purged it")
        await settling.settler.close()
        await session.close()


@pytest.mark.parametrize(
    ("header", "why", "left"),
    [
        (b"NATS/1.0 100 Idle Heartbeat\r\nNats-Pending-Messages: 3\r\n\r\n", "", 10),
        (b"NATS/1.0 409 Batch Completed\r\n\r\n", "", 10),
        (b"NATS/1.0 404 No Messages\r\nNats-Pending-Messages: 4\r\n\r\n", "", 6),
        (b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 10\r\n\r\n", "", 0),
        (b"NATS/1.0 408 Request Timeout\r\n\r\n", "", 0),
        (
            b"NATS/1.0 409 Message Size Exceeds MaxBytes\r\nNats-Pending-Messages: 1\r\n\r\n",
            "",
            9,
        ),
        (
            b"NATS/1.0 409 Consumer Deleted\r\nNats-Pending-Messages: 2\r\n\r\n",
            "the server ended the pull: b'409 Consumer Deleted'",
            10,
        ),
        (
            b"NATS/1.0 503 No Responders MaxBytes\r\n\r\n",
            "the server ended the pull: b'503 No Responders MaxBytes'",
            10,
        ),
    ],
)
def test_knows_which_status_ends_a_pull_and_how_much_is_still_wanted(header, why, left):
    reader = StreamReader(Session("nats://127.0.0.1:1", name="test"), "S")
    reader._wanted = 10
    said = reader._status(wire.status(header), header)
    assert said == why
    assert reader._wanted == left


@pytest.mark.asyncio
async def test_tells_what_every_stream_holds_and_which_limits_it_has(server):
    async with asyncio.timeout(60):
        session = await _session(server)
        connection = await session.connection(5)
        bounded = {
            "name": "B",
            "subjects": ["b.>"],
            "max_msgs": 50,
            "max_bytes": 4_096,
            "max_age": 60 * jetstream.NANOSECONDS,
            "duplicate_window": jetstream.NANOSECONDS,
        }
        await jetstream.ensure_stream(connection, bounded)
        await StreamWriter(session, "S").append([_message(i) for i in (1, 2, 3)])
        held = await jetstream.contents(connection)
        count, room = held["S"]
        assert (count, room.most_messages, room.most_bytes, room.keep_s) == (3, None, None, None)
        assert room.size_bytes > 0
        assert room.newest == 3
        state = await jetstream.stream_state(connection, "B")
        assert state is not None
        limits = {"most_messages": 50, "most_bytes": 4_096, "keep_s": 60.0}
        assert held["B"] == (0, Room(size_bytes=0, newest=0, made=state.created, **limits))
