"""A server of files, package clients that only pretend, and a data set of two small files."""

import gzip
import io
import tarfile
import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from recombine.data._sets import DATA_SETS, DataSet, File
from recombine.data._sources import NPM, Package, Web

CONTENT = {"poem": b"roses are red\n" * 20_000, "answer": b"42"}


class Server:
    """Files over HTTP, in the ways that servers serve them; `seen` has the headers of requests."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.ranges, self.cut, self.tag = True, {}, '"1"'
        self.seen: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.seen.append({"path": self.path, **self.headers})
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}/"

    def answer(self, request):
        name = request.path[1:]
        if name not in self.files:
            request.send_error(404)
            return
        body, begin = self.files[name], 0
        asked = request.headers.get("Range")
        if self.ranges and asked and request.headers.get("If-Range") == self.tag:
            begin = int(asked.removeprefix("bytes=").rstrip("-"))
            if begin >= len(body):
                request.send_error(416)
                return
        request.send_response(206 if begin else 200)
        if begin:
            request.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
        if self.ranges:
            request.send_header("Accept-Ranges", "bytes")
            request.send_header("ETag", self.tag)
        request.send_header("Content-Length", str(len(body) - begin))
        request.end_headers()
        request.wfile.write(body[begin : self.cut.get(name)])


@pytest.fixture
def server():
    one = Server()
    thread = threading.Thread(target=one.http.serve_forever, args=(0.01,))
    thread.start()
    yield one
    one.http.shutdown()
    one.http.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def nothing_outside(tmp_path, monkeypatch):
    """A cache of its own, no proxy, and no package client but those that a test writes."""
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def client(tmp_path):
    """Write a package client: a program that runs a few lines of shell."""

    def write(name, script):
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        program.chmod(0o755)

    return write


def tar_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.fixture
def package(tmp_path, client):
    """A package client npm, which has the data set (or what it is given) in a package."""

    def write(files=CONTENT):
        archive = tmp_path / "made.tgz"
        archive.write_bytes(tar_of({f"package/data/{k}": v for k, v in files.items()}))
        client("npm", f"cp {archive} made-up-1.0.tgz; echo npm notice packed")

    return write


@pytest.fixture
def made_up(server, monkeypatch):
    """A data set called `made-up`, which the server has, and perhaps npm."""
    server.files = {"poem.gz": gzip.compress(CONTENT["poem"]), "answer": CONTENT["answer"]}
    files = tuple(File(k, len(v), sha256(v).hexdigest()) for k, v in CONTENT.items())
    sources = (Web(server.address, ("poem.gz", "answer")), Package(NPM, "made-up@1.0"))
    one = DataSet("made-up", "a poem", "none", files, sources)
    monkeypatch.setitem(DATA_SETS, "made-up", one)
    return one
