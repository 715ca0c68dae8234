"""An object store on this machine that serves one bucket: as much of S3 as a reader needs."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "logs"
WHEN = "2026-11-29T00:00:00.000Z"


@contextmanager
def object_store(objects: Mapping[str, bytes]) -> Iterator[str]:
    """Serve objects by their keys; give what stands behind `s3://…/path?` to reach them."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            key = unquote(parts.path).removeprefix(f"/{BUCKET}").strip("/")
            query = parse_qs(parts.query, keep_blank_values=True)
            if "list-type" in query:
                self.answer(200, listing(objects, query).encode(), kind="application/xml")
            elif not key:
                self.answer(200, b"")
            elif key not in objects:
                self.answer(404, b"")
            elif span := self.headers.get("Range"):
                first, last = map(int, span.removeprefix("bytes=").split("-"))
                self.answer(206, objects[key][first : last + 1])
            else:
                self.answer(200, objects[key])

        do_HEAD = do_GET

        def answer(self, status: int, body: bytes, kind: str = "binary/octet-stream") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Last-Modified", "Sun, 29 Nov 2026 00:00:00 GMT")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            """Keep the test's output free of every request."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=us-east-1"
    finally:
        server.shutdown()
        server.server_close()


def listing(objects: Mapping[str, bytes], query: Mapping[str, list[str]]) -> str:
    """The keys that begin with a prefix, up to a delimiter, as S3 lists them."""
    prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
    most = int(query.get("max-keys", ["1000"])[0])
    found, folders = "", set()
    for key in [key for key in sorted(objects) if key.startswith(prefix)][:most]:
        rest = key[len(prefix) :]
        if delimiter and delimiter in rest:
            folders.add(prefix + rest.split(delimiter)[0] + delimiter)
            continue
        size = len(objects[key])
        found += f"<Contents><Key>{escape(key)}</Key><LastModified>{WHEN}</LastModified>"
        found += f"<Size>{size}</Size></Contents>"
    for folder in sorted(folders):
        found += f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
    keys = found.count("<Contents>") + len(folders)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{keys}</KeyCount>"
        f"<MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>{found}</ListBucketResult>"
    )
