import os

import jax

from recombine.lab import memory


def test_programs_are_let_go_when_they_fill_too_much_and_not_before(monkeypatch):
    @jax.jit
    def double(x):
        return 2 * x

    double(1.0)
    monkeypatch.setenv("RECOMBINE_WORKER_MEMORY", "1e9")
    monkeypatch.setattr(memory, "MOST_MAPS", 1 << 60)
    assert memory.make_room()
    assert double._cache_size() == 1
    monkeypatch.setattr(memory, "MOST_MAPS", 0)
    assert not memory.make_room()
    assert double._cache_size() == 0
    double(1.0)
    monkeypatch.setattr(memory, "MOST_MAPS", 1 << 60)
    monkeypatch.setenv("RECOMBINE_WORKER_MEMORY", "1")
    assert not memory.make_room()
    assert double._cache_size() == 0


def test_all_workers_together_may_have_half_of_the_memory(monkeypatch):
    monkeypatch.delenv("RECOMBINE_WORKER_MEMORY", raising=False)
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert memory.most_bytes() * os.cpu_count() <= machine / 2
    monkeypatch.setattr(os, "cpu_count", lambda: 1 << 10)
    assert memory.most_bytes() == machine // (1 << 11)
