"""A server of files on this machine, which can behave as badly as those of the internet."""

import io
import tarfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import md5, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from voiceprivacy.librispeech_downloads import Archive


@dataclass
class Fault:
    """What one answer suffers."""

    status: int | None = None
    headers: dict = field(default_factory=dict)
    body: bytes | None = None  # sent in place of the file
    longer: int | None = 0  # how much more is announced than there is; None: nothing is announced
    sent: int | None = None  # bytes after which the connection is closed
    stall: bool = False  # or after which nothing happens


class FileServer(ThreadingHTTPServer):
    """Serves `files`, bytes by name; `faults` are those of the next answers.

    `asked` holds the requests' headers.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.faults, self.asked = {}, [], []
        self.ranges = self.tags = True
        self.over = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def ranges_asked(self):
        return [asked["Range"] for asked in self.asked]


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.asked.append(self.headers)
        fault = self.server.faults.pop(0) if self.server.faults else Fault()
        body = self.server.files.get(self.path[1:])
        if fault.status or body is None:
            self.answer(fault.status or 404, fault.headers, fault.body or b"", fault)
        elif fault.body is not None:
            self.answer(200, fault.headers, fault.body, fault)
        else:
            self.file(body, fault)

    def file(self, body, fault):
        tag = f'"{sha256(body).hexdigest()[:8]}"'
        wanted, proof = self.headers["Range"], self.headers["If-Range"]
        start = 0
        if wanted and self.server.ranges and proof in (None, tag):
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if start >= len(body):
            self.answer(416, {"Content-Range": f"bytes */{len(body)}"}, b"", fault)
            return
        headers = {"ETag": tag} if self.server.tags else {}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        self.answer(206 if start else 200, headers | fault.headers, body[start:], fault)

    def answer(self, status, headers, body, fault):
        self.send_response(status)
        if fault.longer is not None:
            self.send_header("Content-Length", str(len(body) + fault.longer))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: fault.sent])
        if fault.stall:
            self.wfile.flush()
            self.server.over.wait(20)


@contextmanager
def serving():
    with FileServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.over.set()
        server.shutdown()


def sums(body):
    return {"md5": md5(body).hexdigest(), "sha256": sha256(body).hexdigest(), "size": len(body)}


def archive(subset, extra=(), speech=b"flac " * 4000):
    """Return a tar.gz in LibriSpeech's layout, and what is known of it."""
    files = {
        "LibriSpeech/SPEAKERS.TXT": b"84 | F | dev-clean | 8 | A\n",
        f"LibriSpeech/{subset}/84/121/84-121.trans.txt": b"84-121-0000 GO\n",
        f"LibriSpeech/{subset}/84/121/84-121-0000.flac": speech,
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in extra:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    body = packed.getvalue()
    return body, Archive(**sums(body))
