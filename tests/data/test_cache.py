import gzip
import hashlib
import json
import os
import resource
import threading
import zipfile
from dataclasses import replace

import pytest

from recombine import data
from recombine.data import _cache
from recombine.data._download import Unavailable
from recombine.data._sources import APT, PIP, AbstractSource, Package
from recombine.lab import UserError


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def content(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if not p.name.startswith(".")}


def left_behind(cache):
    """What is in the cache but data sets and locks."""
    return [p.name for p in cache.iterdir() if p.name.startswith(".") and p.suffix != ".lock"]


def refused(name="made-up"):
    with pytest.raises(UserError) as error:
        data.get(name)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_declared_table_is_sound():
    assert set(data.DATA_SETS) == {
        "digits", "mnist", "fashion-mnist", "cifar-10", "tiny-shakespeare", "wikipedia-excerpt",
        "state-of-the-union", "enwik8", "wikitext-103", "babi", "cogs", "cfq-mcd1", "pcfg-set",
    }  # fmt: skip
    by_hand = {"enwik8", "wikitext-103", "babi", "cogs", "cfq-mcd1", "pcfg-set"}
    unknown = {"wikitext-103"}
    for name, one in data.DATA_SETS.items():
        assert one.name == name
        assert one.title
        assert one.licence
        for file in one.files:
            assert len(bytes.fromhex(file.sha256)) == (0 if name in unknown else 32)
            assert file.size > 0
            assert file.name == os.path.basename(file.name)
        if one.files:
            first, *others = one.sources
            assert first.base.startswith("https://")
            assert first.base.endswith("/")
            assert name in by_hand or any(isinstance(source, Package) for source in others)
            assert one.published is first
            assert bool(getattr(first, "archive_sha256", "")) == (name in unknown)
    assert data.DATA_SETS["mnist"].size == 16 + 60_000 * 784 + 8 + 60_000 + 16 + 7_840_000 + 10_008
    assert data.DATA_SETS["cifar-10"].size == 60_000 * 3073


def test_a_data_set_is_got_from_its_address(made_up, server, cache):
    got = data.get("made-up")
    assert got.folder == cache / "made-up"
    assert got.source == "127.0.0.1"
    assert got.passed_over == ()
    assert {k: len(v) for k, v in content(got.folder).items()} == {"poem": 280_000, "answer": 2}
    assert left_behind(cache) == []


def test_what_is_there_is_not_got_again(made_up, server):
    assert not data.is_cached("made-up")
    data.get("made-up")
    asked = len(server.seen)
    assert data.is_cached("made-up")
    assert data.get("made-up").source == ""
    assert len(server.seen) == asked


def test_the_next_source_is_tried_and_the_reason_kept(made_up, server, package, cache):
    server.files.clear()
    package()
    got = data.get("made-up")
    assert got.source == "npm package made-up@1.0"
    assert got.passed_over == (f"127.0.0.1: {server.address}poem.gz answers 404 Not Found",)
    assert set(content(got.folder)) == {"poem", "answer"}
    assert left_behind(cache) == []


def test_when_no_source_answers_every_reason_and_the_way_by_hand_are_in_one_line(
    made_up, server, cache
):
    server.files.clear()
    line = refused()
    assert "127.0.0.1: " in line
    assert "npm package made-up@1.0: npm is not installed" in line
    assert f"place poem.gz, answer of {server.address} in {cache / 'made-up'}" in line
    assert "recombine data get made-up" in line
    assert left_behind(cache) == []
    assert not (cache / "made-up").exists()


def test_a_wrong_checksum_is_refused_and_leaves_nothing(made_up, server, cache, package):
    server.files["answer"] = b"43"
    assert "answer has a wrong checksum" in refused()
    server.files["answer"] = b"421"
    assert "answer is longer than 2 bytes" in refused()
    package({"poem": b"violets", "answer": b"42"})
    assert "made-up@1.0: poem has 7 bytes instead of 280000" in refused()
    assert not (cache / "made-up").exists()
    assert left_behind(cache) == []


def test_a_truncated_download_goes_on_with_the_next_call(made_up, server, cache):
    server.cut["poem.gz"] = 500
    line = refused()
    assert "poem.gz was cut short at 500 of" in line
    assert left_behind(cache) == [".made-up.parts"]
    assert not (cache / "made-up").exists()
    server.cut.clear()
    data.get("made-up")
    assert [seen.get("Range") for seen in server.seen] == [None, "bytes=500-", None]
    assert left_behind(cache) == []


def test_a_part_that_has_been_damaged_is_found_at_the_end_and_thrown_away(made_up, server, cache):
    server.cut["poem.gz"] = 500
    refused()
    part = cache / ".made-up.parts" / "poem.gz.part"
    part.write_bytes(b"x" * 500)
    server.cut.clear()
    assert "poem.gz is damaged" in refused()
    assert data.get("made-up").source == "127.0.0.1"


@pytest.mark.parametrize(
    ("name", "complaint", "reason"),
    [
        ("npm", "npm warn old\nnpm error code E404\nnpm error 404 Not Found", "npm failed: E404"),
        ("npm", "npm ERR! code ENOTFOUND\nnpm ERR! network", "npm failed: ENOTFOUND"),
        ("npm", "", "npm failed: it does not say why"),
        ("apt-get", "E: Unable to locate package made-up", "`apt-get update` gets the list"),
        ("pip", "ERROR: No matching distribution found", "No matching distribution found"),
    ],
)
def test_a_client_that_fails_is_passed_over_with_its_own_reason(
    made_up, server, client, monkeypatch, name, complaint, reason
):
    server.files.clear()
    if name != "npm":
        sources = (made_up.sources[0], Package({"apt-get": APT, "pip": PIP}[name], "made-up"))
        monkeypatch.setitem(data.DATA_SETS, "made-up", replace(made_up, sources=sources))
    client(name, f"cat >&2 <<'END'\n{complaint}\nEND\nexit 1")
    assert reason in refused()


def test_a_client_that_leaves_no_archive_or_a_damaged_one_is_passed_over(made_up, server, client):
    server.files.clear()
    client("npm", "echo done")
    assert "npm left 0 archives" in refused()
    client("npm", "echo damaged > made-up-1.0.tgz")
    assert "made-up-1.0.tgz is damaged" in refused()


class Failing(AbstractSource):
    """A source during which the disk, the user or the network gives up."""

    def __init__(self, error):
        self.error = error

    def __str__(self):
        return "failing"

    def fetch(self, wanted, into, parts, tell):
        (into / "answer").write_bytes(b"4")
        parts.mkdir()
        (parts / "poem.part").write_bytes(b"roses")
        raise self.error


def test_a_full_disk_is_one_clear_line_and_leaves_nothing(made_up, server, cache):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))  # the poem does not fit
    try:
        line = refused()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert f"made-up cannot be written to {cache / 'made-up'} (File too large)" in line
    assert "it needs 0.3 MB" in line
    assert "RECOMBINE_DATA" in line
    assert left_behind(cache) == []
    assert not (cache / "made-up").exists()
    assert data.get("made-up").source


def test_a_full_disk_does_not_lead_to_the_next_source(made_up, monkeypatch, cache, client):
    sources = (Failing(OSError(28, "No space left on device")), *made_up.sources)
    monkeypatch.setitem(data.DATA_SETS, "made-up", replace(made_up, sources=sources))
    assert "(No space left on device); it needs 0.3 MB" in refused()
    assert left_behind(cache) == []
    client("npm", "echo npm error code ENOSPC; exit 1")
    monkeypatch.setitem(data.DATA_SETS, "made-up", replace(made_up, sources=made_up.sources[::-1]))
    assert "(No space left on device)" in refused()


def test_a_cache_that_cannot_be_written_is_one_clear_line(made_up, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path / "file"))
    assert "made-up cannot be written" in refused()
    assert (tmp_path / "file").read_text() == "mine"


def test_an_interrupted_get_leaves_no_half_data_set(made_up, monkeypatch, cache):
    sources = (Failing(KeyboardInterrupt()), *made_up.sources)
    monkeypatch.setitem(data.DATA_SETS, "made-up", replace(made_up, sources=sources))
    with pytest.raises(KeyboardInterrupt):
        data.get("made-up")
    assert left_behind(cache) == [".made-up.parts"]
    assert not (cache / "made-up").exists()


def test_what_a_killed_process_left_does_not_stay(made_up, cache):
    (cache / ".made-up.new" / "package").mkdir(parents=True)
    data.get("made-up")
    assert left_behind(cache) == []


def test_an_unknown_name_brings_the_nearest():
    assert refused("mnst") == "no data set 'mnst': did you mean 'mnist'?"


def test_digits_need_not_be_got(cache):
    assert data.get("digits").source == ""
    assert not cache.exists()


def test_downloads_placed_by_hand_are_unpacked(made_up, server, cache):
    files = dict(server.files)
    server.files.clear()
    (cache / "made-up").mkdir(parents=True)
    (cache / "made-up" / "poem.gz").write_bytes(files["poem.gz"])
    assert "the files placed by hand: answer missing" in refused()
    (cache / "made-up" / "answer").write_bytes(files["answer"])
    assert data.get("made-up").source == "the files placed by hand"
    assert data.is_cached("made-up")


def test_files_placed_by_hand_are_verified_and_work_as_they_are(made_up, server, cache, tmp_path):
    data.get("made-up")
    (cache / "made-up").rename(tmp_path / "away")
    (tmp_path / "away" / _cache.RECORD).unlink()
    with pytest.raises(UserError, match="`recombine data get made-up`"):
        data.require("made-up")
    (tmp_path / "away").rename(cache / "made-up")
    assert data.require("made-up") == cache / "made-up"
    server.files.clear()
    (cache / "made-up" / "answer").write_bytes(b"43")
    with pytest.raises(UserError, match=r"\(answer has a wrong checksum\)"):
        data.require("made-up")
    assert "answer has a wrong checksum" in refused()


def test_verified_files_are_not_read_again_until_they_change(made_up, monkeypatch, cache):
    data.get("made-up")
    read = []
    monkeypatch.setattr(_cache, "file_digest", lambda *words: read.append(words))
    assert data.is_cached("made-up")
    assert read == []
    os.utime(cache / "made-up" / "answer", ns=(1, 1))
    monkeypatch.undo()
    monkeypatch.setenv("RECOMBINE_DATA", str(cache))
    monkeypatch.setitem(data.DATA_SETS, "made-up", made_up)
    assert data.is_cached("made-up")
    assert json.loads((cache / "made-up" / _cache.RECORD).read_text())["answer"] == [2, 1]


@pytest.mark.parametrize("record", ["", "{", "[]", '{"answer": null, "poem": "x"}'])
def test_a_damaged_record_means_that_files_are_verified_again(made_up, cache, record):
    data.get("made-up")
    (cache / "made-up" / _cache.RECORD).write_text(record)
    assert data.is_cached("made-up")


def test_of_two_that_get_one_data_set_one_waits_and_both_have_it(made_up, server, cache):
    answer, arrived, go = server.answer, threading.Event(), threading.Event()

    def slow(request):
        arrived.set()
        assert go.wait(10)
        answer(request)

    server.answer = slow
    told, got = [], []

    def get(tell=lambda *_: None):
        got.append(data.get("made-up", tell))

    def waiting(what, done, total):
        told.append(what)
        go.set()

    first = threading.Thread(target=get)
    first.start()
    assert arrived.wait(10)
    second = threading.Thread(target=get, args=(waiting,))
    second.start()
    first.join()
    second.join()
    assert told == ["waiting for another process that is getting made-up"]
    assert sorted(one.source for one in got) == ["", "127.0.0.1"]
    assert len(server.seen) == 2
    assert left_behind(cache) == []


def test_unavailable_is_no_os_error():
    assert not issubclass(Unavailable, OSError)  # or a silent server would be a full disk


@pytest.mark.parametrize("kind", ["file", "archive", "folder"])
def test_a_data_set_is_taken_from_what_is_given(
    kind, made_up, server, cache, tmp_path, monkeypatch
):
    whole = {"poem": gzip.decompress(server.files["poem.gz"]), "answer": server.files["answer"]}
    server.files.clear()
    folder = tmp_path / "given"
    folder.mkdir()
    for name, body in whole.items():
        (folder / name).write_bytes(body)
    given = folder
    if kind == "archive":
        given = tmp_path / "all.zip"
        with zipfile.ZipFile(given, "w") as archive:
            for name in whole:
                archive.write(folder / name, f"deep/{name}")
    if kind == "file":  # a data set of one file may have any name outside
        one = data.DATA_SETS["made-up"]
        monkeypatch.setitem(data.DATA_SETS, "made-up", replace(one, files=one.files[:1]))
        given = (folder / one.files[0].name).rename(tmp_path / "whatever.txt")
    got = data.get("made-up", given=given)
    assert got.source == str(given)
    assert content(cache / "made-up").items() <= whole.items()
    assert data.is_cached("made-up")


def test_a_file_that_is_not_the_data_set_or_not_there_is_refused(made_up, server, tmp_path):
    server.files.clear()
    with pytest.raises(UserError, match=r"nowhere: there is no such file"):
        data.get("made-up", given=tmp_path / "nowhere")
    (tmp_path / "answer").write_bytes(b"43")
    with pytest.raises(UserError, match="answer has a wrong checksum"):
        data.get("made-up", given=tmp_path / "answer")


@pytest.mark.parametrize("right", [True, False])
def test_an_archive_whose_files_have_no_checksums_has_one(right, made_up, tmp_path, monkeypatch):
    given = tmp_path / "all.zip"
    with zipfile.ZipFile(given, "w") as archive:
        for name in ("poem", "answer"):
            archive.writestr(name, "no")
    checksum = hashlib.sha256(given.read_bytes()).hexdigest() if right else 64 * "0"
    one = data.DATA_SETS["made-up"]
    files = tuple(replace(file, sha256="") for file in one.files)
    sources = (replace(one.published, archive_sha256=checksum),)
    monkeypatch.setitem(
        data.DATA_SETS, "made-up", replace(one, files=files, sources=sources)
    )  # fmt: skip
    if right:
        assert data.get("made-up", given=given).source == str(given)
    else:
        with pytest.raises(UserError, match=r"all\.zip has a wrong checksum"):
            data.get("made-up", given=given)
