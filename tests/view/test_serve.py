# The server of `netcost view`: to this host alone, by who knows the address, until it is ended.

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from netcost_analysis.view.serve import ViewServer
from netcost_analysis.view.tiles import Tiles
from support.browser import served


@pytest.fixture(scope="module")
def address(tiles: Tiles) -> Iterator[str]:
    with served(tiles) as found:
        yield found


def got(address: str, path: str, host: str | None = None) -> tuple[int, bytes]:
    parts = urlsplit(address)
    assert parts.hostname == "127.0.0.1"
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=30)
    headers = {"Host": host or parts.netloc}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_serves_what_tiles_say(address: str, tiles: Tiles) -> None:
    path = urlsplit(address).path
    told = tiles.header()
    status, page = got(address, path)
    assert status == 200
    assert b"export function mount" in page
    assert got(address, f"{path}tile?level={told['max_level']}&index=0") == (
        200,
        tiles.tile(told["max_level"], 0),
    )
    cpu = told["cpus"][0]
    status, body = got(address, f"{path}detail?cpu={cpu}&ns=1000")
    assert (status, json.loads(body)) == (200, tiles.detail(cpu, 1000))
    status, body = got(address, f"{path}find?text=idle&ns=-1")
    assert (status, json.loads(body)) == (200, tiles.find("idle", -1, None))


def test_only_who_knows_the_address(address: str) -> None:
    path = urlsplit(address).path
    for other in ("/", "/tile?level=0&index=0", "/" + "x" * 22 + "/", path[:-2] + "/", "/%00/"):
        assert got(address, other)[0] == 404
    # Another site's name that leads here.
    assert got(address, path, host=f"example.com:{urlsplit(address).port}")[0] == 404


@pytest.mark.parametrize(
    "asked",
    [
        "tile",
        "tile?level=-1&index=0",
        "tile?level=0&index=99999999999999999999",
        "tile?level=x&index=0",
        "tile?level=0&index=1e3",
        "detail?cpu=99999&ns=0",
        "detail?cpu=0&ns=-1",
        "follow?cpu=0&ns=0&link=__class__",
        "find?ns=0",
        "find?ns=0&text=" + "x" * 1000,
        "header",
        "../../etc/passwd",
        "tile?" + "&".join(f"a{number}=1" for number in range(100)),
    ],
)
def test_other_questions_are_refused_in_a_line(address: str, asked: str) -> None:
    status, body = got(address, urlsplit(address).path + asked)
    assert status in (400, 404)
    assert 0 < len(body) < 300
    assert b"\n" not in body


def test_connections_are_bounded_and_all_end(tiles: Tiles) -> None:
    with served(tiles) as address:
        port = urlsplit(address).port
        waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        for one in waiting[32:]:
            one.settimeout(10)
            # Closed at once, one way or the other.
            with suppress(ConnectionResetError):
                assert one.recv(1) == b""
        for one in waiting:
            one.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_a_token_is_new_each_time(tiles: Tiles) -> None:
    with ViewServer(tiles) as first, ViewServer(tiles) as second:
        assert first.token != second.token
        assert len(first.token) >= 20
