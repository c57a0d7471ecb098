import bz2
import gzip
import io
import tarfile
import zipfile

import pytest

from recombine.data._archives import unpack
from recombine.data._download import Unavailable


@pytest.fixture
def into(tmp_path):
    folder = tmp_path / "deep" / "into"
    folder.mkdir(parents=True)
    return folder


def sizes(names, most=1 << 20):
    return dict.fromkeys(names, most)


def tar(path, *members, mode="w:gz"):
    """A tar of (name, content), a content of None being a link to /etc/passwd."""
    with tarfile.open(path, mode) as out:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            else:
                info.size = len(content)
            out.addfile(info, io.BytesIO(content or b""))
    return path


def test_files_are_found_by_their_last_name_gzipped_or_not(tmp_path, into):
    archive = tar(
        tmp_path / "a.tgz", ("package/x", b"one"), ("other/y.gz", gzip.compress(b"two")), ("z", b"")
    )
    unpack(archive, sizes(["x", "y"]), into)
    assert {p.name: p.read_bytes() for p in into.iterdir()} == {"x": b"one", "y": b"two"}


def test_no_path_of_an_archive_leads_outside(tmp_path, into):
    archive = tar(
        tmp_path / "a.tar.gz", ("../x", b"one"), ("/tmp/../../y", b"two"), ("../../evil", b"three")
    )
    unpack(archive, sizes(["x", "y"]), into)
    assert {p.name for p in into.iterdir()} == {"x", "y"}
    assert {p.name for p in tmp_path.rglob("*")} == {"a.tar.gz", "bin", "deep", "into", "x", "y"}


def test_links_are_not_followed_and_the_first_of_two_files_is_taken(tmp_path, into):
    archive = tar(tmp_path / "a.tgz", ("x", None), ("b/x", b"one"), ("c/x", b"two"))
    unpack(archive, sizes(["x"]), into)
    assert (into / "x").read_bytes() == b"one"
    assert not (into / "x").is_symlink()


def test_files_compressed_otherwise_are_unpacked_too(tmp_path, into):
    (tmp_path / "x.bz2").write_bytes(bz2.compress(b"one"))
    unpack(tmp_path / "x.bz2", sizes(["x"]), into)
    assert (into / "x").read_bytes() == b"one"


def test_zips_gzipped_files_and_plain_files_are_unpacked(tmp_path, into):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as out:
        out.writestr("../../package/x", "one")
    (tmp_path / "y.gz").write_bytes(gzip.compress(b"two"))
    (tmp_path / "z").write_bytes(b"three")
    for archive in ("a.whl", "y.gz", "z"):
        unpack(tmp_path / archive, sizes(["x", "y", "z"]), into)
    assert [(into / name).read_bytes() for name in "xyz"] == [b"one", b"two", b"three"]


def test_a_debian_package_is_read_as_a_tar(tmp_path, into, client):
    tar(tmp_path / "files.tar", ("./usr/share/x.gz", gzip.compress(b"one")), mode="w")
    (tmp_path / "a.deb").write_bytes(b"")
    client("dpkg-deb", f'[ "$1" = --fsys-tarfile ] && cat {tmp_path}/files.tar')
    unpack(tmp_path / "a.deb", sizes(["x"]), into)
    assert (into / "x").read_bytes() == b"one"


def test_a_debian_package_needs_dpkg(tmp_path, into):
    (tmp_path / "a.deb").write_bytes(b"")
    with pytest.raises(Unavailable, match="dpkg-deb is not installed"):
        unpack(tmp_path / "a.deb", sizes(["x"]), into)


@pytest.mark.parametrize("name", ["a.tgz", "a.whl", "x.gz"])
@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_damaged_archive_is_named(tmp_path, into, name, damage):
    content = bytes(range(256)) * 99
    if name == "a.tgz":
        tar(tmp_path / name, ("x", content))
    elif name == "a.whl":
        with zipfile.ZipFile(tmp_path / name, "w") as out:
            out.writestr("x", content)
    else:
        (tmp_path / name).write_bytes(gzip.compress(content))
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"<html>" * 50)
    with pytest.raises(Unavailable, match=f"{name} is damaged"):
        unpack(tmp_path / name, sizes(["x"]), into)


@pytest.mark.parametrize("name", ["a.tgz", "a.whl", "x.gz", "x"])
def test_no_more_is_written_than_a_file_may_have(tmp_path, into, name):
    bomb = bytes(10_000_000)
    if name == "a.tgz":
        tar(tmp_path / name, ("x", bomb))
    elif name == "a.whl":
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as out:
            out.writestr("x", bomb)
    else:
        (tmp_path / name).write_bytes(gzip.compress(bomb) if name == "x.gz" else bomb)
    with pytest.raises(Unavailable, match="x is longer than 1000000 bytes"):
        unpack(tmp_path / name, {"x": 1_000_000}, into)
    assert (into / "x").stat().st_size <= 1_000_000
    (into / "x").unlink()
    unpack(tmp_path / name, {"x": len(bomb)}, into)
    assert (into / "x").stat().st_size == len(bomb)


def test_an_encrypted_or_unknown_zip_is_named_where_it_matters(tmp_path, into):
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("x", "one")
        out.writestr("y", "two")
    plain = file.read_bytes()
    first, second = plain.index(b"PK\x01\x02"), plain.rindex(b"PK\x01\x02")
    for at, value in ((8, 1), (10, 77)):  # the flag of encryption, the method of compression
        for entry in (first, second):
            content = bytearray(plain)
            content[entry + at] |= value
            file.write_bytes(content)
            if entry == first:
                with pytest.raises(Unavailable, match=r"a.zip is damaged"):
                    unpack(file, sizes(["x"]), into)
            else:
                unpack(file, sizes(["x"]), into)
            (into / "x").unlink(missing_ok=True)


@pytest.mark.parametrize("name", ["a.tgz", "a.whl", "x.gz"])
def test_whatever_bytes_are_flipped_an_archive_is_read_or_named_as_damaged(tmp_path, into, name):
    content = bytes(range(256)) * 4
    if name == "a.tgz":
        tar(tmp_path / name, ("x", content))
    elif name == "a.whl":
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as out:
            out.writestr("x", content)
    else:
        (tmp_path / name).write_bytes(gzip.compress(content))
    whole, damaged = (tmp_path / name).read_bytes(), 0
    for at in range(len(whole)):
        for flip in (0x01, 0x80, 0xFF):
            broken = bytearray(whole)
            broken[at] ^= flip
            (tmp_path / name).write_bytes(broken)
            try:
                unpack(tmp_path / name, sizes(["x"]), into)
            except Unavailable:
                damaged += 1
            (into / "x").unlink(missing_ok=True)
    assert damaged > 20
