import time

import pytest

from recombine.lab import lines


def test_lines_are_put_together_however_they_arrive():
    text = b"one\ntwo\n\nthree\n"
    for size in range(1, len(text) + 1):
        arrived = lines.Lines()
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        assert [line for p in pieces for line in arrived.feed(p)] == [b"one", b"two", b"", b"three"]


def test_a_message_comes_back_as_it_was():
    message = {"text": "a\nb \ud800", "number": 1 / 3}
    assert lines.decode(lines.encode(message).rstrip(b"\n")) == message


@pytest.mark.parametrize("line", [b"good morning", b"", b"\xff\xfe", b"[" * 100_000, b"[]", b"1"])
def test_what_is_no_message_is_an_empty_one(line):
    assert lines.decode(line) == {}


def test_a_long_line_costs_no_more_per_byte_than_a_short_one():
    arrived, piece = lines.Lines(), bytes(1 << 12)
    started = time.process_time()
    for _ in range(20_000):
        assert arrived.feed(piece) == []
    (line,) = arrived.feed(b"\n")
    assert len(line) == 20_000 << 12
    assert time.process_time() - started < 5
