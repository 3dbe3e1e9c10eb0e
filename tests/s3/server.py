"""S3 on loopback: moto's server, which counts the requests that it is sent.

``python -m tests.s3.server [PORT]`` runs one until it is interrupted.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3 import models
from werkzeug.serving import WSGIRequestHandler, make_server

_Start = Callable[..., Any]


class Requests:
    """WSGI application that counts the requests to another one, by what they do."""

    def __init__(self, application: Callable[[dict[str, Any], _Start], Iterable[bytes]]) -> None:
        self._application = application
        self._lock = threading.Lock()
        self.counted: Counter[str] = Counter()
        self.log: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: _Start) -> Iterable[bytes]:
        """Answer a request."""
        kind = kind_of(environ["REQUEST_METHOD"], environ.get("QUERY_STRING", ""), environ)
        with self._lock:
            self.counted[kind] += 1
            self.log.append(f"{kind} {environ['PATH_INFO']}?{environ.get('QUERY_STRING', '')}")
        return self._application(environ, start_response)

    @contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        """Yield a counter that has the requests of the block at its end."""
        before = Counter(self.counted)
        found: Counter[str] = Counter()
        yield found
        found.update(self.counted - before)


def kind_of(method: str, query: str, headers: dict[str, Any]) -> str:
    """Return what a request does: ``list``, ``head``, ``get``, ``put``, ``copy``, ``delete``, or a
    step of a multipart upload (``multipart``).
    """
    names = parse_qs(query, keep_blank_values=True)
    if "uploads" in names or "uploadId" in names:
        return "list-uploads" if method == "GET" else "multipart"
    if method == "GET" and ("list-type" in names or "prefix" in names):
        return "list"
    if method == "POST" and "delete" in names:
        return "delete"
    if method == "PUT" and "HTTP_X_AMZ_COPY_SOURCE" in headers:
        return "copy"
    return method.lower()


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002  # werkzeug's name
        """Log nothing."""


@contextmanager
def running(port: int = 0, least_part: int | None = None) -> Iterator[tuple[str, Requests]]:
    """Run a server within the block; yield its endpoint and its requests.

    Args:
        least_part: size of the smallest part of an upload, if it is not Amazon's 5 MiB.
    """
    if least_part is not None:
        with patch.object(models, "S3_UPLOAD_PART_MIN_SIZE", least_part), running(port) as started:
            yield started
        return
    requests = Requests(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", port, requests, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, name="S3", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join()


if __name__ == "__main__":
    with running(int(sys.argv[1]) if len(sys.argv) > 1 else 0) as (endpoint, _):
        sys.stdout.write(f"{endpoint}\n")
        sys.stdout.flush()
        threading.Event().wait()
