"""A timeline in a browser on this host: an HTTP server on 127.0.0.1 that ends with Ctrl-C.

The address has a random token, so that neither other users of the host nor other pages find it.
"""

import gzip
import json
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import compare_digest, token_urlsafe
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from ..errors import is_refusal, line_of
from .page import document
from .places import respond

if TYPE_CHECKING:
    from .tiles import Tiles

# Accept only this host's own names: another may resolve to this address (DNS rebinding). Accept any
# port, because ssh may forward a different one.
_HOSTS = re.compile(r"(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?")
# A browser opens up to six connections to a host.
_MOST_CONNECTIONS = 32
_IDLE_S = 60
_MOST_FIELDS = 8
# Compress longer answers: a tile of many CPUs has megabytes, mostly zeros.
_PACKED_FROM = 4096
_HOST = """
const ask = async (what, given) => {
  const answer = await fetch(`${what}?${new URLSearchParams(given)}`);
  if (!answer.ok) throw new Error((await answer.text()).slice(0, 300));
  return answer;
};
const json = async (what, given) => (await ask(what, given)).json();
mount(document.getElementById("timeline"), {
  header: data.header,
  fills: true,
  tile: async (level, index) => (await ask("tile", { level, index })).arrayBuffer(),
  detail: (cpu, ns) => json("detail", { cpu, ns }),
  follow: (cpu, ns, link) => json("follow", { cpu, ns, link }),
  find: (text, ns, cpu) => json("find", cpu === null ? { text, ns } : { text, ns, cpu }),
});
"""


class ViewServer(ThreadingHTTPServer):
    """Serves one timeline. Use `with`, or serve_forever() and server_close()."""

    daemon_threads = True
    # Closing does not wait for idle connections, which end with the process.
    block_on_close = False
    # With a shorter queue, a browser that opens several connections at once retries after a second.
    request_queue_size = _MOST_CONNECTIONS

    def __init__(self, tiles: "Tiles", port: int = 0) -> None:
        self.tiles = tiles
        self.token = token_urlsafe(16)
        self._once = token_urlsafe(16)
        self._unused = {self._once}
        header = tiles.header()
        title = f"{header['capture']}: timeline"
        self.page = document(title, {"header": header}, _HOST, connect="'self'").encode()
        # Serve one request at a time: an expensive one uses all cores.
        self.turn = threading.Lock()
        self.connections = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise OSError(error.errno, error.strerror, f"port {port}") from None

    @property
    def address(self) -> str:
        """The address for the user."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    @property
    def address_once(self) -> str:
        """An address that works once: every user can read it on the browser's command line."""
        return f"http://127.0.0.1:{self.server_port}/{self._once}/"

    def leads(self, token: str) -> bool:
        """Whether this is the unused token of address_once, which this call uses up."""
        if not _same(token, self._once):
            return False
        # Only one of two concurrent requests succeeds.
        with suppress(KeyError):
            self._unused.remove(self._once)
            return True
        return False

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.connections.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that disconnects in the middle of an answer."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "netcost"
    sys_version = ""
    timeout = _IDLE_S
    server: ViewServer

    def do_GET(self) -> None:
        status, kind, body = self._answered()
        packs = "gzip" in self.headers.get("Accept-Encoding", "")
        is_packed = len(body) > _PACKED_FROM and packs
        if is_packed:
            body = gzip.compress(body, 1, mtime=0)
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):
            self.send_header(name, value)
        if is_packed:
            self.send_header("Content-Encoding", "gzip")
        if status == HTTPStatus.SEE_OTHER:
            self.send_header("Location", f"/{self.server.token}/")
        self.end_headers()
        self.wfile.write(body)

    def _answered(self) -> tuple[HTTPStatus, str, bytes]:
        nothing = _text(HTTPStatus.NOT_FOUND, "nothing is here")
        try:
            asked = urlsplit(self.path)
        except ValueError:
            return nothing
        _, token, what = [*asked.path.split("/", 2), "", ""][:3]
        if not _HOSTS.fullmatch(self.headers.get("Host", "")):
            return nothing
        if what == "" and self.server.leads(token):
            return _text(HTTPStatus.SEE_OTHER, "there it is")
        if not _same(token, self.server.token):
            return nothing
        if what == "":
            return HTTPStatus.OK, "text/html; charset=utf-8", self.server.page
        try:
            given = dict(parse_qsl(asked.query, max_num_fields=_MOST_FIELDS))
        except ValueError:
            return _text(HTTPStatus.BAD_REQUEST, "no such question")
        try:
            with self.server.turn:
                answer = respond(self.server.tiles, what, given)
        except Exception as error:
            refused = HTTPStatus.BAD_REQUEST if is_refusal(error) else None
            return _text(refused or HTTPStatus.INTERNAL_SERVER_ERROR, line_of(error))
        if isinstance(answer, bytes):
            return HTTPStatus.OK, "application/octet-stream", answer
        return HTTPStatus.OK, "application/json", json.dumps(answer, allow_nan=False).encode()

    def log_message(self, *_: Any) -> None:
        """Print nothing on the user's terminal."""


def _same(token: str, other: str) -> bool:
    return compare_digest(token.encode(), other.encode())


def _text(status: HTTPStatus, text: str) -> tuple[HTTPStatus, str, bytes]:
    return status, "text/plain; charset=utf-8", text.encode()


def serve(
    tiles: "Tiles",
    port: int = 0,
    ready: Callable[[str], None] = print,
    open_browser: Callable[[str], object] | None = None,
) -> None:
    """Serve a timeline on 127.0.0.1 until Ctrl-C. Port 0 takes a free one.

    ready: called with the address. open_browser: called in a thread, as it may last as long as the
    browser, with an address that works once.
    """
    with ViewServer(tiles, port) as server:
        ready(server.address)
        if open_browser is not None:
            given = (server.address_once,)
            threading.Thread(target=open_browser, args=given, daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.1)
