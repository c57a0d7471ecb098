import time

from recombine.lab.schedule import Schedule


def test_a_worker_stays_with_its_shape_then_takes_a_free_one_then_helps():
    schedule = Schedule([("a", 1), ("b", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)])
    assert schedule.take("", taken=[]) == ("a", 1)
    assert schedule.take("", taken=["a"]) == ("b", 2)
    assert schedule.take("a", taken=["b"]) == ("a", 3)
    assert schedule.take("a", taken=["b"]) == ("c", 5)
    assert schedule.take("c", taken=["b"]) == ("b", 4)
    assert len(schedule) == 1
    assert schedule.take("b", taken=["b"]) == ("b", 6)
    assert not schedule


def test_the_cost_of_an_item_does_not_grow_with_their_number():
    def seconds(items):
        schedule = Schedule((str(i % (items // 2)), i) for i in range(items))
        started, shapes = time.process_time(), [""] * 8
        while schedule:
            for worker in range(min(8, len(schedule))):
                shapes[worker], _ = schedule.take(shapes[worker], shapes)
        return (time.process_time() - started) / items

    seconds(1_000)
    assert seconds(100_000) < 10 * seconds(2_000)
