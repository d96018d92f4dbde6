# The server of `netcost view`: to this host alone, by who knows the address, until it is ended.

import gzip
import http.client
import json
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from netcost_analysis.view.places import detail
from netcost_analysis.view.serve import ViewServer
from netcost_analysis.view.tiles import Tiles
from support.browser import served


# Of a server on this host: status, headers and body.
def asked(address: str, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=30)
    connection.request("GET", path, headers={"Host": parts.netloc, **headers})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def got(address: str, path: str, **headers: str) -> tuple[int, bytes]:
    status, _, body = asked(address, path, **headers)
    return status, body


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
    assert (status, json.loads(body)) == (200, detail(tiles, cpu, 1000))
    status, body = got(address, f"{path}find?text=idle&ns=-1")
    assert (status, json.loads(body)) == (200, tiles.find("idle", -1, None))


def test_only_who_knows_the_address(address: str) -> None:
    path = urlsplit(address).path
    for other in ("/", "/tile?level=0&index=0", "/" + "x" * 22 + "/", path[:-2] + "/", "/%00/"):
        assert got(address, other)[0] == 404
    # Another site's name that leads here.
    port = urlsplit(address).port
    for host in ("example.com", "localhost.example.com", "127.0.0.1.example.com", "x@localhost"):
        assert got(address, path, Host=f"{host}:{port}")[0] == 404
    # A port that ssh forwards need not be the same on both ends.
    assert got(address, path, Host="localhost:9090")[0] == 200


def test_other_questions_are_refused_in_a_line(address: str) -> None:
    for what in (
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
    ):
        status, body = got(address, urlsplit(address).path + what)
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


def test_what_a_browser_is_started_with_leads_once(tiles: Tiles) -> None:
    with ViewServer(tiles) as server, ViewServer(tiles) as other:
        assert server.token != other.token
        assert len(server.token) >= 20
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        once = urlsplit(server.address_once).path
        assert server.token not in once
        # It leads to the page, and to nothing else.
        assert got(server.address, f"{once}tile?level=0&index=0")[0] == 404
        status, headers, _ = asked(server.address, once)
        assert (status, headers["Location"]) == (303, urlsplit(server.address).path)
        assert got(server.address, once)[0] == 404
        server.shutdown()
        thread.join()


def test_what_is_no_address_gets_an_answer(address: str) -> None:
    port = urlsplit(address).port
    with socket.create_connection(("127.0.0.1", port), timeout=30) as opened:
        opened.sendall(f"GET http://[ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert opened.recv(100).startswith(b"HTTP/1.1 404")


def test_what_is_long_is_packed_for_who_can_unpack_it(address: str, tiles: Tiles) -> None:
    level = tiles.header()["max_level"]
    path = f"{urlsplit(address).path}tile?level={level}&index=0"
    _, headers, body = asked(address, path, **{"Accept-Encoding": "gzip, deflate, br"})
    assert headers["Content-Encoding"] == "gzip"
    tile = tiles.tile(level, 0)
    assert len(body) < len(tile) / 2
    assert gzip.decompress(body) == tile
