import contextlib
import time

import pytest

from recombine.data import _download
from recombine.data._download import Damaged, Unavailable, download

BODY = bytes(range(256)) * 4000


@pytest.fixture
def told():
    return []


@pytest.fixture
def get(server, tmp_path, told):
    server.files["file"] = BODY

    def call(name="file", most=1 << 30):
        tell = lambda *words: told.append(words)  # noqa: E731
        return download(server.address + name, tmp_path / "parts" / name, tell, most)

    return call


def names(tmp_path):
    return sorted(path.name for path in (tmp_path / "parts").iterdir())


def test_a_file_comes_whole_and_nothing_else_stays(get, told, tmp_path):
    assert get().read_bytes() == BODY
    assert names(tmp_path) == ["file"]
    assert told[0] == ("file", 0, len(BODY))
    assert told[-1] == ("file", len(BODY), len(BODY))


def test_a_file_that_is_there_is_not_asked_for_again(get, server):
    get()
    get()
    assert len(server.seen) == 1


def test_a_download_that_was_cut_short_goes_on_where_it_stopped(get, server, told, tmp_path):
    server.cut["file"] = 300_000
    with pytest.raises(Unavailable, match=r"cut short at 300000 of 1024000 bytes.*goes on"):
        get()
    assert names(tmp_path) == ["file.mark", "file.part"]
    server.cut.clear()
    told.clear()
    assert get().read_bytes() == BODY
    assert server.seen[1]["Range"] == "bytes=300000-"
    assert told[0] == ("file", 300_000, len(BODY))
    assert names(tmp_path) == ["file"]


def test_a_part_of_an_older_version_is_thrown_away(get, server):
    server.cut["file"] = 300_000
    with pytest.raises(Unavailable):
        get()
    server.cut.clear()
    server.tag, server.files["file"] = '"2"', BODY[::-1]
    assert get().read_bytes() == BODY[::-1]


def test_nothing_is_kept_if_the_server_cannot_go_on(get, server, tmp_path):
    server.ranges = False
    server.cut["file"] = 300_000
    with pytest.raises(Unavailable, match="cut short") as error:
        get()
    assert "goes on" not in str(error.value)
    assert names(tmp_path) == []


def test_a_part_that_is_longer_than_the_file_is_got_anew(get, server, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "file.part").write_bytes(BODY + b"more")
    (tmp_path / "parts" / "file.mark").write_text('"1"')
    assert get().read_bytes() == BODY
    assert len(server.seen) == 2


def test_an_answer_from_another_place_than_asked_for_is_refused(get, server, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "file.part").write_bytes(BODY[:10])
    (tmp_path / "parts" / "file.mark").write_text('"1"')

    def elsewhere(request):
        request.send_response(206)
        request.send_header("Content-Range", f"bytes 20-{len(BODY) - 1}/{len(BODY)}")
        request.end_headers()

    server.answer = elsewhere
    with pytest.raises(Unavailable, match="another part"):
        get()
    assert names(tmp_path) == []


def test_a_file_that_is_not_there_is_named_with_the_answer(get):
    with pytest.raises(Unavailable, match="nosuch answers 404"):
        get("nosuch")


def test_a_server_that_is_not_there_is_no_connection(tmp_path):
    with pytest.raises(Unavailable, match=r"^no connection \(Connection refused\)$"):
        download("http://127.0.0.1:9/file", tmp_path / "parts" / "file", lambda *_: None, 1)


def test_a_server_that_is_silent_is_not_waited_for(get, server, monkeypatch):
    monkeypatch.setattr(_download, "SECONDS", 0.1)
    server.answer = lambda request: time.sleep(0.3)
    with pytest.raises(Unavailable, match=r"no answer within 0.1 s"):
        get()


def unending(request, **headers):
    request.send_response(200)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    with contextlib.suppress(OSError):
        while True:
            request.wfile.write(bytes(1 << 16))


@pytest.mark.parametrize("headers", [{}, {"Accept_Ranges": "bytes", "ETag": '"1"'}])
def test_a_server_that_does_not_stop_is_not_listened_to_any_longer(get, server, tmp_path, headers):
    server.answer = lambda request: unending(request, **headers)
    with pytest.raises(Damaged, match="file is longer than 1000000 bytes"):
        get(most=1_000_000)
    assert names(tmp_path) == []


def test_a_server_that_announces_too_much_is_not_listened_to_at_all(get, server, told, tmp_path):
    with pytest.raises(Damaged, match="longer than 1000 bytes"):
        get(most=1_000)
    assert told == []
    assert names(tmp_path) == []


@pytest.mark.parametrize("length", ["abc", "-5", "", "1e3", "٣"])
def test_a_length_that_is_no_number_is_an_unknown_length(get, server, told, length):
    def answer(request):
        request.send_response(200)
        request.wfile.write(b"".join(request._headers_buffer))
        request._headers_buffer = []
        request.wfile.write(f"Content-Length: {length}\r\n\r\n".encode())
        request.wfile.write(BODY)

    server.answer = answer
    assert get().read_bytes() == BODY
    assert told[-1] == ("file", len(BODY), None)
