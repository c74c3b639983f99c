"""What pages are told, however slowly they read and however often they come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from gtp_engine.web.streams import MOST_PENDING, MOST_STREAMS, Streams
from tests.gtp_engine.web.browser import Browser, Server


def hello(page: str) -> dict[str, Any]:
    return {"page": page}


def run(test: Callable[[Streams, AsyncIterator[bytes]], Awaitable[None]]) -> None:
    async def with_streams() -> None:
        streams = Streams()
        await test(streams, streams.events(hello))

    asyncio.run(with_streams())


def name_of(event: bytes) -> str:
    return event.split(b"event: ")[1].split(b"\n")[0].decode()


def test_a_stream_begins_with_everything_and_goes_on_with_what_changes() -> None:
    async def test(streams: Streams, events: AsyncIterator[bytes]) -> None:
        first = await anext(events)
        assert name_of(first) == "hello"
        assert json.loads(first.split(b"data: ")[1])["page"]
        streams.publish("nodes", {"at": 1})
        streams.publish("nodes", {"at": 2})
        assert [await anext(events), await anext(events)] == [
            b'id: 1\nevent: nodes\ndata: {"at":1}\n\n',
            b'id: 2\nevent: nodes\ndata: {"at":2}\n\n',
        ]

    run(test)


def test_of_what_only_the_latest_counts_no_more_is_kept() -> None:
    async def test(streams: Streams, events: AsyncIterator[bytes]) -> None:
        await anext(events)
        for visits in range(10 * MOST_PENDING):
            streams.publish("analysis", {"visits": visits})
            if visits == 5:
                streams.publish("nodes", {})
        assert name_of(await anext(events)) == "nodes"
        assert b'{"visits":639}' in await anext(events)

    run(test)


def test_a_page_that_falls_behind_is_told_everything_anew() -> None:
    async def test(streams: Streams, events: AsyncIterator[bytes]) -> None:
        await anext(events)
        for _ in range(100 * MOST_PENDING):
            streams.publish("nodes", {"text": "x" * 1000})
        assert name_of(await anext(events)) == "hello"
        streams.publish("message", {})
        assert name_of(await anext(events)) == "message"

    run(test)


def test_streams_end_with_the_server() -> None:
    async def test(streams: Streams, events: AsyncIterator[bytes]) -> None:
        await anext(events)
        streams.close()
        assert [event async for event in events] == []
        assert not streams.has_room
        assert not streams.has_readers

    run(test)


def test_a_page_that_comes_back_gets_everything_and_a_page_too_many_is_refused(server: Server, page: Browser) -> None:
    page.leave()
    page.ask("play", node=0, point=0)
    again = Browser(server.port, server.tokens[-1])
    others = [Browser(server.port, server.tokens[-1]) for _ in range(MOST_STREAMS - 2)]
    while server.streams.has_room:
        others.append(Browser(server.port, server.tokens[-1]))
    assert again.request("GET", "/api/events", Last_Event_ID="7")[0] == 503
    assert again.request("HEAD", "/api/events")[0] == 503, "so a page finds out why it was not let in"
    for other in (again, *others):
        other.leave()
